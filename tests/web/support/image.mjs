// The image of the Dockerfile, without Docker: the lines that gather what is in it are run on a folder, which is then the
// root of its program. So the program has what the image has: no shell, no folder for temporary files, no other user.

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startServer } from '../../edge/gailou.mjs';

const execute = promisify(execFile);
const ROOT = new URL('../../../', import.meta.url).pathname;
/** Only root changes the root of a program. */
const AS_ROOT = process.getuid() === 0 ? [] : ['/usr/bin/sudo', '-n'];

const asRoot = (...command) => {
  const [program, ...parameters] = [...AS_ROOT, ...command];
  return execute(program, parameters, { maxBuffer: 16_000_000 });
};

/** The instructions of each stage, as `{ name, value }`. */
async function readStages() {
  const text = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean);
  const stages = [];
  for (const line of lines) {
    const [, name, value] = /^(\S+)\s+(.*)$/.exec(line);
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, value });
  }
  return stages;
}

/**
 * Makes the image in `folder` around a program that is built already. A container has what a volume keeps in a folder of
 * its own.
 */
export async function makeImage(folder, program) {
  const stages = await readStages();
  const last = stages.at(-1);
  const instruction = (name) => last.find((each) => each.name === name).value;
  const build = stages
    .flat()
    .find(({ name, value }) => name === 'RUN' && value.includes('cargo build'));
  const gather = build.value.slice(build.value.indexOf('&&') + 2);
  const [image, state] = [join(folder, 'image'), join(folder, 'state')];
  const script = gather
    .replaceAll('/image', image)
    .replaceAll('/state', state)
    .replaceAll('target/release/gailou', program);
  await execute('/bin/bash', ['-o', 'pipefail', '-ec', script]);
  // A program that is not optimised does not contain the page: it reads it where it was built, beside its sources.
  const page = join(ROOT, 'edge/web/dist');
  await cp(page, join(image, page), { recursive: true });
  await mkdir(join(image, ROOT, 'origin'));
  const environment = instruction('ENV').trim().split(/\s+/);
  const check = JSON.parse(/CMD (\[.*\])$/.exec(instruction('HEALTHCHECK'))[1]);
  return {
    user: instruction('USER'),
    environment: Object.fromEntries(environment.map((each) => each.split('='))),
    entry: JSON.parse(instruction('ENTRYPOINT')),
    check,
    image,
    state,
  };
}

/** Deletes what belongs to the user of a container, too. */
export const removeFolder = (folder) => asRoot('/bin/rm', '-rf', folder);

/** A container of the image, with the variables `settings`, and a folder for `/backups`. */
export async function makeContainer(image, folder, settings) {
  const root = join(folder, 'root');
  await mkdir(root, { recursive: true });
  await execute('/bin/cp', ['-al', `${image.image}/.`, root]);
  const [data, backups] = [join(root, 'var/lib'), join(root, 'backups')];
  await cp(image.state, data, { recursive: true });
  await mkdir(backups);
  await asRoot('/bin/chown', '-R', image.user, data, backups);
  // What Docker puts into each container.
  await mkdir(join(root, 'etc'), { recursive: true });
  for (const name of ['hosts', 'resolv.conf']) await cp(`/etc/${name}`, join(root, 'etc', name));
  const variables = { ...image.environment, ...settings };
  const pairs = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const commandOf = (parts) => [
    ...AS_ROOT,
    ...['/usr/bin/env', '-i', ...pairs],
    ...['/usr/sbin/chroot', `--userspec=${image.user}`, root, ...parts],
  ];
  return {
    backups,
    /** Gives it the backups of another one, as if both had the folder of this machine. */
    takeBackups: (other) => asRoot('/bin/cp', '-a', `${other.backups}/.`, backups),
    write: (path, text) => writeFile(join(root, path), text),
    /** `docker run`: the program, until `stop`. */
    start: async () => {
      const [program, ...parameters] = commandOf(image.entry);
      const server = await startServer(program, parameters, {});
      const stop = async () => {
        // One that has ended by itself has no process.
        await asRoot('/bin/kill', String(server.pid)).catch(() => undefined);
        return server.ended;
      };
      return { ...server, stop };
    },
    /** `docker exec` of the program, or `docker run --rm` where no server runs: its output. */
    run: async (...parameters) => {
      const [program, ...rest] = commandOf([...image.entry, ...parameters]);
      return (await execute(program, rest)).stdout;
    },
    /** What says whether it is healthy; rejects where it is not. */
    check: async () => {
      const [program, ...rest] = commandOf(image.check);
      await execute(program, rest);
    },
  };
}
