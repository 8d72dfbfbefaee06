/* large.js - uses large memory in node, and prints a digest in each line: large.js SMALL|LARGE */
'use strict';
const crypto = require('crypto');
const zlib = require('zlib');
const { Worker } = require('worker_threads');

const large = process.argv[2] === 'LARGE';
const MIB = 1 << 20;
const digest = (data) => crypto.createHash('sha256').update(data).digest('hex').slice(0, 16);
const say = (what, data) => console.log(what, data.length ?? data.byteLength, digest(data));

/* Allocates and drops every size between 1 and 64 MiB, so that freed blocks are reused. */
for (let round = 0; round < (large ? 3 : 1); round++)
	for (let size = MIB; size <= (large ? 64 : 8) * MIB; size *= 2) {
		const words = new Uint32Array(new ArrayBuffer(size + 4 * round));
		for (let i = 0, x = size; i < words.length; i += 1 + (i & 63))
			words[i] = x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
		say('array', Buffer.from(words.buffer));
		say('copy', Buffer.concat([Buffer.from(words.buffer), Buffer.alloc(size, round)]));
	}

const rows = [];
for (let i = 0; i < (large ? 600000 : 30000); i++)
	rows.push({ id: i, text: 'x'.repeat(i % 97), list: [i, i * 2, i / 3] });
const text = JSON.stringify(rows);
say('json', text);
say('json again', JSON.stringify(JSON.parse(text)));

const packed = zlib.gzipSync(text, { level: 1 });
say('gunzip', zlib.gunzipSync(packed));
say('brotli', zlib.brotliDecompressSync(zlib.brotliCompressSync(packed,
	{ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } })));

const source = `
const { parentPort, workerData } = require('worker_threads');
const shared = new Uint8Array(workerData.shared), own = Buffer.alloc(workerData.size);
for (let i = 0; i < own.length; i++)
	own[i] = shared[i] = (i * 31 + workerData.number) & 255;
parentPort.postMessage(own.buffer, [own.buffer]);
`;
const size = (large ? 16 : 2) * MIB;
Promise.all([0, 1, 2, 3].map((number) => new Promise((resolve) => {
	const shared = new SharedArrayBuffer(size);
	new Worker(source, { eval: true, workerData: { shared, size, number } })
		.on('message', (buffer) => resolve([number, buffer, shared]));
}))).then((all) => {
	for (const [number, buffer, shared] of all) {
		say('worker ' + number, Buffer.from(buffer));
		say('shared ' + number, Buffer.from(new Uint8Array(shared)));
	}
});
