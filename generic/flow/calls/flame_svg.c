/*
 * flow/calls/flame_svg.c --
 *
 *	A flame graph as one svg element. Pointing at a frame shows its numbers, a click zooms,
 *	Ctrl-F or the button searches (a regular expression) and shows the share of matches. Colours
 *	depend on the first part of a call's name; waits are blue, calls with errors have a red
 *	border. It loads no other files.
 */
#include "flow/render/columns.h"
#include "flow/render/escape.h"
#include "flow/calls/flame.h"

enum { WIDTH = 1200, ROW = 18, TOP = 56, SIDE = 10, BOTTOM = 30, DEEPEST = 500 };
/*
 * Minimum width of a frame in px. Smaller frames are omitted, which limits the size of the picture.
 */
static const double narrowest = 0.05;

/*
 * The script works on the svg that contains it. Frames store their position as shares of the total
 * (data-x, data-w). Zooming scales a part of it.
 */
static const char script[] =
        "(function(){'use strict';\n"
        "var "
        "svg=document.currentScript?document.currentScript.closest('svg'):document.documentElement;"
        "\n"
        "var W=1180,L=10,q=function(s){return svg.querySelector(s)};\n"
        "var fs=Array.prototype.slice.call(svg.querySelectorAll('.etw-f'));\n"
        "var num=function(f,k){return parseFloat(f.getAttribute('data-'+k))};\n"
        "var name=function(f){return f.getAttribute('data-n')};\n"
        "var info=q('.etw-i'),found=q('.etw-m'),x0=0,w0=1,pattern='';\n"
        "function fit(f,w){var t=f.querySelector('text'),n=name(f),c=Math.floor((w-6)/7);\n"
        " t.textContent=c<3?'':n.length<=c?n:n.slice(0,c-2)+'..';}\n"
        "function place(f){var x=(num(f,'x')-x0)/w0,w=num(f,'w')/w0,r=f.querySelector('rect');\n"
        " var a=Math.max(0,x),b=Math.min(1,x+w);\n"
        " if(b-a<1e-9||b<=0||a>=1){f.style.display='none';return;}\n"
        " f.style.display='';var px=(b-a)*W;r.setAttribute('x',L+a*W);r.setAttribute('width',px);\n"
        " f.querySelector('text').setAttribute('x',L+a*W+3);fit(f,px);\n"
        " f.style.opacity=w>1.000001?0.5:1;}\n"
        "function zoom(x,w){x0=x;w0=w;fs.forEach(place);q('.etw-r').style.display=w<1?'':'none';}\n"
        "function search(p){var e;pattern=p;try{e=p?new "
        "RegExp(p,'i'):null}catch(err){found.textContent=\n"
        " 'not a pattern';return;}\n"
        " var parts=[];fs.forEach(function(f){var "
        "hit=e&&e.test(name(f));f.classList.toggle('etw-hit',!!hit);\n"
        "  if(hit)parts.push([num(f,'x'),num(f,'w')]);});\n"
        " parts.sort(function(a,b){return a[0]-b[0]});var end=0,sum=0;\n"
        " parts.forEach(function(p){var "
        "b=p[0]+p[1];if(b>end){sum+=b-Math.max(end,p[0]);end=b;}});\n"
        " found.textContent=e?'matches: '+parts.length+' frames, '+(100*sum).toFixed(1)+'%':'';}\n"
        "function ask(){var p=window.prompt('Search for a name (regular expression):',pattern);\n"
        " if(p!==null)search(p);}\n"
        "fs.forEach(function(f){\n"
        " f.addEventListener('mouseover',function(){info.textContent=f.querySelector('title')."
        "textContent;});\n"
        " f.addEventListener('mouseout',function(){info.textContent='';});\n"
        " f.addEventListener('click',function(){zoom(num(f,'x'),num(f,'w'));});\n"
        " f.addEventListener('keydown',function(e){if(e.key==='Enter'){zoom(num(f,'x'),num(f,'w'));"
        "}});\n"
        " f.addEventListener('focus',function(){info.textContent=f.querySelector('title')."
        "textContent;});});\n"
        "q('.etw-r').addEventListener('click',function(){zoom(0,1);});\n"
        "q('.etw-s').addEventListener('click',ask);\n"
        "window.addEventListener('keydown',function(e){\n"
        " if((e.ctrlKey||e.metaKey)&&e.key==='f'&&svg===document.documentElement){e.preventDefault("
        ");ask();}\n"
        " else if(e.key==='Escape'){zoom(0,1);search('');}});\n"
        "svg.etwFlame={zoom:zoom,search:search,frames:fs};zoom(0,1);})();\n";

static const char style[] =
        ".etw-fl text{font:12px Verdana,DejaVu Sans,sans-serif;fill:#111}"
        ".etw-fl .etw-t{font-size:17px}.etw-fl .etw-r,.etw-fl .etw-s{cursor:pointer;fill:#06c}"
        ".etw-fl .etw-f{cursor:pointer;outline:none}.etw-fl .etw-f "
        "rect{stroke:#fff;stroke-width:.5}"
        ".etw-fl .etw-f text{pointer-events:none}"
        ".etw-fl .etw-f:hover rect,.etw-fl .etw-f:focus rect{stroke:#000;stroke-width:1}"
        ".etw-fl .etw-e rect{stroke:#c00;stroke-width:1.5}"
        ".etw-fl .etw-hit rect{fill:#d040d0!important}";

/* ---- Numbers for people ---------------------------------------------------------------------- */

static void addAmount(EtwText *out, EtwWeight weight, uint64_t v)
{
    if (weight != ETW_WEIGHT_COUNT && v >= 1000) {
        EtwAddTime(out, (double)v, 2, "\xC2\xB5s");
        return;
    }
    EtwTextPrintf(out, "%llu %s", (unsigned long long)v,
            weight != ETW_WEIGHT_COUNT ? "ns"
            : v == 1                   ? "call"
                                       : "calls");
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void addBefore(const EtwFlameFrame *f, EtwWeight weight, EtwText *out)
{
    ETW_ADD(out, "; before: itself ");
    addAmount(out, weight, f->before);
    EtwTextPrintf(out, ", %llu %s", (unsigned long long)f->callsBefore,
            f->callsBefore == 1 ? "call" : "calls");
}

static void addTitle(const EtwFlame *flame, const EtwFlameFrame *f, EtwWeight weight, EtwText *out)
{
    ETW_ADD(out, "<title>");
    EtwAddXml(out, f->name, strlen(f->name));
    ETW_ADD(out, ": ");
    addAmount(out, weight, f->total);
    EtwTextPrintf(out, " (%.2f%%)", 100 * share(f->total, flame->total));
    if (f->self < f->total) {
        ETW_ADD(out, ", itself ");
        addAmount(out, weight, f->self);
    }
    EtwTextPrintf(out, ", %llu %s", (unsigned long long)f->calls,
            f->waiting      ? "times"
            : f->calls == 1 ? "call"
                            : "calls");
    if (flame->largest > 0) {
        addBefore(f, weight, out);
    }
    if (f->errors > 0) {
        EtwTextPrintf(out, ", %llu with an error", (unsigned long long)f->errors);
    }
    ETW_ADD(out, "</title>");
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Red: more than before, blue: less; the more, the larger the change of the frame itself. */
static void addChangeColor(const EtwFlame *flame, const EtwFlameFrame *f, EtwText *out)
{
    double part = ((double)f->self - (double)f->before) / flame->largest;
    int other = 235 - (int)(165 * (part < 0 ? -part : part));
    if (part > 0) {
        EtwTextPrintf(out, "rgb(245,%d,%d)", other, other);
    } else if (part < 0) {
        EtwTextPrintf(out, "rgb(%d,%d,245)", other, other);
    } else {
        ETW_ADD(out, "rgb(238,238,238)");
    }
}

/* Warm colours. Names with the same prefix before "::" have the same colour. */
static void addColor(const EtwFlameFrame *f, EtwText *out)
{
    uint32_t hash = 2166136261u;
    const char *end = strstr(f->name, "::");
    if (f->waiting || f->depth == 0) {
        EtwTextStr(out, f->waiting ? "#8fb8e8" : "#c8c8c8");
        return;
    }
    for (const char *p = f->name; *p != 0 && p != end; p++) {
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    }
    EtwTextPrintf(
            out, "hsl(%u,%u%%,%u%%)", 10 + hash % 50, 60 + hash / 64 % 30, 60 + hash / 4096 % 15);
}

static void addFrame(const EtwFlame *flame, const EtwFlameFrame *f, EtwWeight weight, uint64_t at,
        int height, EtwText *out)
{
    double x = share(at, flame->total), w = share(f->total, flame->total);
    int y = height - BOTTOM - (f->depth + 1) * ROW;
    EtwTextPrintf(out,
            "<g class=\"etw-f%s\" tabindex=\"0\" data-x=\"%.9f\" data-w=\"%.9f\" data-n=\"",
            f->errors > 0 ? " etw-e" : "", x, w);
    EtwAddXml(out, f->name, strlen(f->name));
    ETW_ADD(out, "\">");
    addTitle(flame, f, weight, out);
    EtwTextPrintf(out, "<rect x=\"%.3f\" y=\"%d\" width=\"%.3f\" height=\"%d\" fill=\"",
            SIDE + x * (WIDTH - 2 * SIDE), y, w * (WIDTH - 2 * SIDE), ROW - 1);
    if (flame->largest > 0) {
        addChangeColor(flame, f, out);
    } else {
        addColor(f, out);
    }
    EtwTextPrintf(out, "\"/><text x=\"%.3f\" y=\"%d\"></text></g>\n",
            SIDE + x * (WIDTH - 2 * SIDE) + 3, y + ROW - 5);
}

static bool isVisible(const EtwFlame *flame, const EtwFlameFrame *f)
{
    return f->total > 0 && f->depth < DEEPEST &&
           share(f->total, flame->total) * (WIDTH - 2 * SIDE) >= narrowest;
}

/* Siblings are placed side by side from the start of their parent. */
static int addFrames(const EtwFlame *flame, EtwWeight weight, int height, EtwText *out)
{
    uint64_t *starts = EtwAlloc(((size_t)flame->depth + 2) * sizeof *starts);
    int hidden = 0;
    for (int i = 0; i < flame->count; i++) {
        const EtwFlameFrame *f = &flame->frames[i];
        uint64_t at = starts[f->depth];
        starts[f->depth] += f->total;
        starts[f->depth + 1] = at;
        if (isVisible(flame, f)) {
            addFrame(flame, f, weight, at, height, out);
        } else {
            hidden += f->total > 0;
        }
    }
    EtwFree(starts);
    return hidden;
}

static int levelsShown(const EtwFlame *flame)
{
    int levels = 1;
    for (int i = 0; i < flame->count; i++) {
        if (isVisible(flame, &flame->frames[i]) && flame->frames[i].depth >= levels) {
            levels = flame->frames[i].depth + 1;
        }
    }
    return levels;
}

void EtwFlameSvg(const EtwFlame *flame, EtwWeight weight, const char *title, EtwText *out)
{
    int height = TOP + levelsShown(flame) * ROW + BOTTOM;
    EtwTextPrintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"etw-fl\" viewBox=\"0 0 %d %d\" "
            "width=\"100%%\" role=\"img\">\n<style>%s</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fdfdf8\"/>\n"
            "<text class=\"etw-t\" x=\"%d\" y=\"24\" text-anchor=\"middle\">",
            WIDTH, height, style, WIDTH / 2);
    EtwAddXml(out, title, strlen(title));
    EtwTextPrintf(out,
            "</text>\n<text class=\"etw-r\" x=\"%d\" y=\"24\" style=\"display:none\">Reset "
            "zoom</text>\n"
            "<text class=\"etw-s\" x=\"%d\" y=\"24\" text-anchor=\"end\">Search</text>\n"
            "<text class=\"etw-i\" x=\"%d\" y=\"%d\"></text>\n"
            "<text class=\"etw-m\" x=\"%d\" y=\"%d\" text-anchor=\"end\"></text>\n<text x=\"%d\" "
            "y=\"44\">",
            SIDE, WIDTH - SIDE, SIDE, height - 10, WIDTH - SIDE, height - 10, SIDE);
    addAmount(out, weight, flame->total);
    ETW_ADD(out, " in all</text>\n");
    int hidden = addFrames(flame, weight, height, out);
    if (hidden > 0) {
        EtwTextPrintf(out,
                "<text x=\"%d\" y=\"44\" text-anchor=\"end\">%d frames too narrow to see "
                "are left out</text>\n",
                WIDTH - SIDE, hidden);
    }
    ETW_ADD(out, "<script>//<![CDATA[\n");
    EtwTextStr(out, script);
    ETW_ADD(out, "//]]></script>\n</svg>\n");
}
