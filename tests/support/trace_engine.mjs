// trace_engine.mjs --
//
//	What the trace engine of Chromium's DevTools makes of a trace event file: prints how many calls it put into its
//	trees. Run by export_open.test: node trace_engine.mjs NODE_MODULES FILE
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

globalThis.DOMRect ??= class DOMRect {
    static fromRect(r) {
        return Object.assign(new DOMRect(), r);
    }
};
const [modules, file] = process.argv.slice(2);
const main = path.join(modules, '@paulirish/trace_engine/models/trace/trace.js');
const { Processor } = await import(pathToFileURL(main));
const engine = Processor.TraceProcessor.createWithAllHandlers();
await engine.parse(JSON.parse(fs.readFileSync(file, 'utf8')).traceEvents, {});
console.log(engine.data.Renderer.entryToNode.size);
