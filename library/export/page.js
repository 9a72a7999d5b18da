/* page.js --
 *
 *	The timeline of a page of `etw export -format html`: draws the boxes that the page has as data, zooms and pans. It
 *	knows no file format; texts are only ever put into the page as text.
 */
(function () {
    'use strict';
    var data = JSON.parse(document.getElementById('data').textContent);
    var place = document.getElementById('timeline');
    var canvas = place.querySelector('canvas');
    var tip = place.querySelector('.tip');
    var draw = canvas.getContext('2d');
    var ROW = 16, HEAD = 18, LABEL = 170, FIELDS = 7;
    var CALL = 0, EVENT = 1, GAP = 2, RUN = 3;
    var from = 0, to = data.width; // what is visible, in the data's own pixels
    var dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
    var ink = dark ? '#eee' : '#111';

    // Where each lane is; moments have a row below the calls.
    var y = HEAD;
    var lanes = data.lanes.map(function (lane) {
        var levels = Math.max(1, lane.levels);
        var at = { lane: lane, y: y, momentY: y + levels * ROW, height: (levels + 1) * ROW };
        y += at.height + 6;
        return at;
    });
    var height = y + 4;

    function hue(text) {
        var h = 0, end = text.indexOf('::');
        for (var i = 0; i < (end < 0 ? text.length : end); i++) {
            h = (h * 31 + text.charCodeAt(i)) >>> 0;
        }
        return h % 360;
    }
    function time(pixel) {
        return data.span * pixel / data.width;
    }
    function span(ns) {
        var units = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s']];
        for (var i = 0; i < units.length; i++) {
            if (ns >= units[i][0]) {
                return (ns / units[i][0]).toFixed(2) + ' ' + units[i][1];
            }
        }
        return Math.round(ns) + ' ns';
    }
    function width() {
        return Math.max(100, canvas.clientWidth - LABEL);
    }
    function screenX(pixel) {
        return LABEL + (pixel - from) / (to - from) * width();
    }

    /* ---- Drawing ---- */

    function drawBox(at, b, i) {
        var kind = b[i], text = data.texts[b[i + 4]];
        var x0 = Math.max(LABEL, screenX(b[i + 2])), x1 = Math.min(LABEL + width(), screenX(b[i + 3]));
        if (kind === EVENT) {
            draw.fillStyle = b[i + 6] & 16 ? '#d00' : dark ? '#9ad' : '#369';
            draw.fillRect(x0, at.momentY + 2, Math.max(1, x1 - x0), ROW - 4);
            return;
        }
        var w = Math.max(0.7, x1 - x0), top = at.y + b[i + 1] * ROW;
        draw.fillStyle = kind === GAP ? (dark ? '#345' : '#cde')
            : 'hsl(' + hue(text) + (dark ? ',45%,38%)' : ',65%,75%)');
        draw.fillRect(x0, kind === GAP ? at.momentY : top, w, kind === GAP ? 3 : ROW - 1);
        if (b[i + 6] & 1) { // an error
            draw.fillStyle = '#d00';
            draw.fillRect(x0, top + ROW - 3, w, 2);
        }
        if (w > 30 && (kind === CALL || kind === RUN)) {
            draw.save();
            draw.beginPath();
            draw.rect(x0, top, w - 2, ROW);
            draw.clip();
            draw.fillStyle = ink;
            draw.fillText(text, x0 + 3, top + ROW - 5);
            draw.restore();
        }
    }
    function visible(b, i) {
        return b[i + 3] >= from && b[i + 2] <= to;
    }
    function drawLane(at) {
        var b = at.lane.boxes;
        draw.fillStyle = ink;
        draw.fillText(at.lane.name, 4, at.y + ROW - 5, LABEL - 8);
        for (var i = 0; i < b.length; i += FIELDS) {
            if (visible(b, i)) {
                drawBox(at, b, i);
            }
        }
    }
    function drawTimes() {
        draw.fillStyle = '#888';
        for (var i = 0; i <= 4; i++) {
            draw.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center';
            draw.fillText('+' + span(time(from + (to - from) * i / 4)), LABEL + width() * i / 4, 12);
        }
        draw.textAlign = 'left';
        if (data.left > 0) {
            draw.fillText(data.left + ' lanes more are left out', 4, height - 4);
        }
    }
    function redraw() {
        var ratio = window.devicePixelRatio || 1;
        canvas.style.width = '100%';
        canvas.style.height = height + 'px';
        canvas.width = canvas.clientWidth * ratio;
        canvas.height = height * ratio;
        draw.setTransform(ratio, 0, 0, ratio, 0, 0);
        draw.font = '11px system-ui, sans-serif';
        drawTimes();
        lanes.forEach(drawLane);
    }

    /* ---- Moving ---- */

    function show(a, b) {
        var size = Math.min(data.width, Math.max(data.width / 1e5, b - a));
        from = Math.max(0, Math.min(data.width - size, a));
        to = from + size;
        redraw();
    }
    function zoom(factor, x) {
        var middle = from + (to - from) * x;
        show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }
    function shareOf(event) {
        return (event.clientX - canvas.getBoundingClientRect().left - LABEL) / width();
    }
    function boxAt(px, py) {
        var found = null;
        lanes.forEach(function (at) {
            var b = at.lane.boxes;
            for (var i = 0; i < b.length; i += FIELDS) {
                var top = b[i] === EVENT || b[i] === GAP ? at.momentY : at.y + b[i + 1] * ROW;
                if (py >= top && py < top + ROW && visible(b, i) && px >= screenX(b[i + 2]) - 2 &&
                        px <= screenX(b[i + 3]) + 2) {
                    found = { name: data.texts[b[i + 4]], count: b[i + 5], marks: b[i + 6], kind: b[i],
                        ns: time(b[i + 3] - b[i + 2]), at: time(b[i + 2]) };
                }
            }
        });
        return found;
    }
    function tell(box) {
        var text = box.count > 1 ? box.count + ' together, the first: ' + box.name : box.name;
        if (box.kind !== EVENT) {
            text += ', ' + span(box.ns);
        }
        return text + ', at +' + span(box.at) + (box.marks & 1 ? ', error' : '') + (box.marks & 2 ? ', never left' : '');
    }

    var drag = null;
    place.addEventListener('wheel', function (event) {
        if (!event.shiftKey) {
            event.preventDefault();
            zoom(event.deltaY > 0 ? 1.25 : 0.8, shareOf(event));
        }
    }, { passive: false });
    canvas.addEventListener('mousedown', function (event) {
        drag = { x: event.clientX, from: from, to: to };
    });
    window.addEventListener('mouseup', function () {
        drag = null;
    });
    canvas.addEventListener('mousemove', function (event) {
        var rect = canvas.getBoundingClientRect();
        if (drag) {
            var by = (drag.x - event.clientX) / width() * (drag.to - drag.from);
            show(drag.from + by, drag.to + by);
        }
        var box = drag ? null : boxAt(event.clientX - rect.left, event.clientY - rect.top);
        tip.hidden = !box;
        if (box) {
            tip.textContent = tell(box);
            tip.style.left = Math.min(event.clientX + 12, window.innerWidth - 320) + 'px';
            tip.style.top = event.clientY + 14 + 'px';
        }
    });
    canvas.addEventListener('mouseleave', function () {
        tip.hidden = true;
    });
    canvas.addEventListener('dblclick', function () {
        show(0, data.width);
    });
    place.addEventListener('keydown', function (event) {
        var step = (to - from) / 5;
        var keys = {
            '+': function () { zoom(0.5, 0.5); }, '-': function () { zoom(2, 0.5); }, '0': function () { show(0, data.width); },
            ArrowLeft: function () { show(from - step, to - step); },
            ArrowRight: function () { show(from + step, to + step); }
        };
        if (keys[event.key]) {
            event.preventDefault();
            keys[event.key]();
        }
    });
    window.addEventListener('resize', redraw);
    redraw();
    // For whoever looks at the page with a program.
    place.etwTimeline = { show: show, boxAt: boxAt, lanes: lanes, tell: tell,
        visible: function () { return [from, to]; } };
}());
