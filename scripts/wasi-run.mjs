// Runs a WASI program: node scripts/wasi-run.mjs PROGRAM.wasm [ARGUMENT...]
// The program has standard input and output, and neither files nor environment variables.

import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args, env: {}, returnOnExit: true });
const program = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(program, wasi.getImportObject());
process.exitCode = wasi.start(instance);
