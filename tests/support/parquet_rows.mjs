// parquet_rows.mjs --
//
//	Compares the rows of an export in the format parquet with the lines of one in the format json, as hyparquet or DuckDB
//	reads them: node parquet_rows.mjs NODE_MODULES hyparquet|duckdb FILE.parquet FILE.jsonl
//	Prints the number of rows, and for the first differing ones what differs. Used by export_parquet.test.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules, reader, file, jsonl] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(modules, name)));
const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

// Rows as objects; times are BigInts of nanoseconds.
async function* hyparquetRows() {
    const { parquetReadObjects } = await load('hyparquet/src/node.js').catch(() => load('hyparquet/src/hyparquet.js'));
    const { compressors } = await load('hyparquet-compressors/src/index.js');
    const bytes = fs.readFileSync(file);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    yield* await parquetReadObjects({ file: buffer, compressors, parsers: { timestampFromNanoseconds: (v) => v } });
}
async function* duckdbRows() {
    const { DuckDBInstance } = await load('@duckdb/node-api/lib/index.js');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const result = await connection.stream(`SELECT epoch_ns("time") AS "time", * EXCLUDE ("time") FROM read_parquet(${quoted(file)})`);
    const names = result.columnNames();
    for (;;) {
        const chunk = await result.fetchChunk();
        if (!chunk || chunk.rowCount === 0) {
            return;
        }
        for (const row of chunk.getRows()) {
            yield Object.fromEntries(row.map((v, i) => [names[i], v && v.entries && !Array.isArray(v) ? v.entries : v]));
        }
    }
}

const parsed = (v) => (typeof v === 'string' ? JSON.parse(v) : v);
// Objects that JSON.parse made: numbers may be BigInts in one of them.
const canonical = (v) => JSON.stringify(v, (k, x) => (typeof x === 'bigint' ? Number(x) : x));

// A value of a column and one of JSON.
function same(a, b) {
    if (a === null || a === undefined || b === null || b === undefined) {
        return (a ?? null) === (b ?? null);
    }
    if (typeof a === 'bigint') {
        return typeof b === 'number' ? BigInt(b) === a : /^(0x[0-9a-f]+|-?\d+)$/i.test(b) && BigInt(b) === a;
    }
    if (typeof b === 'object') {
        return canonical(parsed(a)) === canonical(b);
    }
    if (typeof a === 'number' && typeof b === 'string') {
        return !Number.isFinite(a);
    }
    // A number that has no name in its map.
    return a === b || (typeof a === 'string' && typeof b === 'number' && a === String(b));
}

const header = ['provider', 'event', 'id', 'version', 'level', 'opcode', 'task', 'keyword', 'pid', 'tid', 'cpu', 'activity', 'related',
    'process', 'object'];
const zeroIfAbsent = new Set(['id', 'version', 'level', 'opcode', 'task', 'keyword']);

function difference(row, event, line) {
    const time = /"time":(-?\d+)/.exec(line)[1];
    if (row.time !== BigInt(time)) {
        return `time ${row.time}`;
    }
    for (const key of header) {
        let want = event[key];
        let have = row[key];
        if (zeroIfAbsent.has(key) && want === undefined) {
            want = 0;
        }
        if ((key === 'pid' || key === 'tid') && want === -1) {
            want = null;
        }
        if (!same(have, want)) {
            return `${key} ${have}`;
        }
    }
    if (!same(row.stack, event.stack)) {
        return 'stack';
    }
    if (row.props !== null && row.props !== undefined) {
        const props = parsed(row.props);
        delete props._error;
        return canonical(props) === canonical(event.props) ? '' : 'props';
    }
    if (event.error) {
        return 'no _error';
    }
    // The only group with values.
    const groups = Object.entries(row).filter(([, v]) => v !== null && typeof v === 'object' && !Array.isArray(v)
        && Object.values(v).some((x) => x !== null && x !== undefined));
    const named = groups.filter(([name]) => name.toLowerCase().startsWith(`${event.provider}/${event.event}`.toLowerCase()));
    if (groups.length > 1 || named.length !== groups.length) {
        return `groups ${groups.map(([name]) => name)}`;
    }
    const fields = groups.length === 1 ? groups[0][1] : {};
    const seen = new Set();
    for (const [name, want] of Object.entries(event.props)) {
        const last = Object.keys(fields).filter((f) => f === (name || '_') || f.replace(/#\d+$/, '') === (name || '_')).pop();
        seen.add(last);
        if (!same(fields[last], want)) {
            return `field ${name}: ${fields[last]}`;
        }
    }
    const extra = Object.keys(fields).filter((f) => fields[f] !== null && !seen.has(f) && !/#\d+$/.test(f)
        && !Object.keys(fields).includes(`${f}#2`));
    return extra.length > 0 ? `more fields: ${extra}` : '';
}

const lines = readline.createInterface({ input: fs.createReadStream(jsonl) })[Symbol.asyncIterator]();
let rows = 0;
let different = 0;
for await (const row of reader === 'duckdb' ? duckdbRows() : hyparquetRows()) {
    const { value: line, done } = await lines.next();
    rows++;
    const what = done ? 'more rows than lines' : difference(row, JSON.parse(line), line);
    if (what && different++ < 3) {
        console.log(`row ${rows}: ${what}: ${line}`);
    }
}
if (!(await lines.next()).done) {
    console.log('fewer rows than lines');
}
console.log(`${rows} rows, ${different} differ`);
process.exit(0);
