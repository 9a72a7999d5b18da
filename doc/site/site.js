// The search of the manual. search-index.js has the index: etwSearch.pages are [file, label, summary], etwSearch.places are
// [number of the page, anchor, title, text]. A page opened with #search=WORDS shows the results for these words.
(function () {
    "use strict";
    var limit = 40; // results that are shown
    var form = document.getElementById("search");
    var query = document.getElementById("query");
    var list = document.getElementById("results");
    var page = document.getElementById("page");
    form.hidden = false;

    // How well a place has all words: 0, not at all. Titles count more than texts, beginnings more than other occurrences.
    function rank(place, words) {
        var title = place[2].toLowerCase(), text = place[3].toLowerCase(), sum = 0;
        for (var i = 0; i < words.length; i++) {
            var word = words[i], value = 0;
            if (title === word) {
                value = 100;
            } else if (title.split(/[^a-z0-9_]+/).indexOf(word.replace(/^-+/, "")) >= 0) {
                value = 40;
            } else if (title.indexOf(word) >= 0) {
                value = 20;
            } else if (text.indexOf(word) >= 0) {
                value = 1 + Math.min(text.split(word).length, 5);
            } else {
                return 0;
            }
            sum += value;
        }
        // The whole of several words as a title, such as "etw script add".
        if (words.length > 1 && title.indexOf(words.join(" ")) === 0) {
            sum += 100;
        }
        return sum + (place[1] === "" ? 5 : 0);
    }

    function find(words) {
        return etwSearch.places.map(function (place) {
            return {place: place, rank: rank(place, words)};
        }).filter(function (hit) {
            return hit.rank > 0;
        }).sort(function (a, b) {
            return b.rank - a.rank;
        });
    }

    // A part of the text around the first of the words, with all of them marked.
    function excerpt(text, words) {
        var lower = text.toLowerCase(), p = document.createElement("p");
        var first = Math.max(0, lower.indexOf(words[0]));
        var from = first < 60 ? 0 : text.indexOf(" ", first - 60) + 1;
        var part = text.slice(from, from + 200);
        var pattern = new RegExp("(" + words.map(function (word) {
            return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        }).join("|") + ")", "gi");
        p.append(from > 0 ? "\u2026 " : "");
        part.split(pattern).forEach(function (piece, i) {
            var node = document.createElement(i % 2 ? "mark" : "span");
            node.textContent = piece;
            p.append(node);
        });
        p.append(from + 200 < text.length ? " \u2026" : "");
        return p;
    }

    function item(place, words) {
        var about = etwSearch.pages[place[0]];
        var li = document.createElement("li"), a = document.createElement("a"), where = document.createElement("span");
        a.href = about[0] + (place[1] ? "#" + place[1] : "");
        a.textContent = place[2];
        a.addEventListener("click", show.bind(null, ""));
        where.className = "where";
        where.textContent = place[1] ? " in " + about[1] : "";
        li.append(a, where, excerpt(place[3], words));
        return li;
    }

    function show(text) {
        var words = text.toLowerCase().split(/\s+/).filter(Boolean);
        list.textContent = "";
        list.hidden = words.length === 0;
        page.hidden = words.length > 0;
        if (words.length === 0) {
            return;
        }
        var hits = find(words);
        hits.slice(0, limit).forEach(function (hit) {
            list.append(item(hit.place, words));
        });
        var last = document.createElement("li");
        last.className = "where";
        last.textContent = hits.length === 0 ? "No page has all of these words." :
            hits.length > limit ? "The first " + limit + " of " + hits.length + " places. Add a word to see fewer." :
            hits.length + (hits.length === 1 ? " place" : " places");
        list.append(last);
    }

    function fromAddress() {
        var match = /^#search=(.*)$/.exec(location.hash);
        if (match) {
            query.value = decodeURIComponent(match[1]);
            show(query.value);
        }
    }

    query.addEventListener("input", function () {
        show(query.value);
    });
    form.addEventListener("submit", function (event) {
        var first = list.querySelector("a");
        event.preventDefault();
        if (first) {
            first.click();
        }
    });
    document.addEventListener("keydown", function (event) {
        if (event.key === "/" && document.activeElement !== query && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            query.focus();
        } else if (event.key === "Escape" && document.activeElement === query) {
            query.value = "";
            show("");
        }
    });
    window.addEventListener("hashchange", fromAddress);
    fromAddress();
})();
