import { spawnSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '#command-line';
import { freePort } from '#platform/embedded-postgres';
import { project } from '#test/local-run';
import { ggufFile } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { WeightsServer } from '#test/weights-server';
import { Machine } from './machine.js';
import { type PageCommand, readPageCommands } from './page-commands.js';

const about = `npm test -- quickstart

Runs every command of docs/start/quickstart.md, in its order, in fresh folders: against a hub on this machine, whose address
is set as that of a mirror, and with a second machine that has its own home and reaches the first at another address.`;
readCommandLine(about);

const page = join(project, 'docs', 'start', 'quickstart.md');

/** The hub of the page, with a tiny model in the place of the real one. */
async function openHub(): Promise<WeightsServer> {
  const hub = await WeightsServer.start();
  const file = await ggufFile(tinyDecoder('llama', 1));
  hub.addRepository('Qwen/Qwen2.5-0.5B-Instruct-GGUF', 'c'.repeat(40), { 'qwen2.5-0.5b-instruct-q8_0.gguf': file });
  return hub;
}

/** Runs the commands of the page on two machines. */
class Reader {
  private constructor(
    private readonly first: Machine,
    private readonly second: Machine,
    private readonly ports: Readonly<Record<'api' | 'database' | 'worker', number>>,
  ) {}

  static async create(hub: WeightsServer): Promise<Reader> {
    const [api, database, worker] = [await freePort(), await freePort(), await freePort()];
    const folder = (name: string) => mkdtemp(join(tmpdir(), `sluice-quickstart-${name}-`));
    const first = { HF_ENDPOINT: hub.url, PORT: String(api), SLUICE_MODELS: 'none' };
    const second = { HF_ENDPOINT: hub.url, SLUICE_WORKER_PORT: String(worker) };
    return new Reader(
      await Machine.create(await folder('first'), first),
      await Machine.create(await folder('second'), second),
      { api, database, worker },
    );
  }

  async run({ language, code, isFirstMachine }: PageCommand): Promise<void> {
    const machine = isFirstMachine ? this.first : this.second;
    // The page names the default port of the api, and an address and a port that its reader chooses.
    const local = code
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${this.ports.api}`)
      .replaceAll('10.0.0.1:5433', `127.0.0.2:${this.ports.database}`);
    if (!isFirstMachine) await this.first.copyFilesTo(this.second);
    const isReady = this.readinessOf(local);
    if (isReady === undefined) process.stdout.write(await machine.run(language, local));
    else await machine.serve(local, isReady);
  }

  /** Repeats a request until the log of the first machine says that the second one served it. */
  async untilServedBySecond(chat: PageCommand): Promise<void> {
    while (!this.first.output.includes(' worker=far/')) await this.run(chat);
  }

  async close(): Promise<void> {
    await this.second.remove();
    await this.first.remove();
  }

  /** How a reader sees that a command which does not end has begun; undefined: the command ends. */
  private readinessOf(code: string): (() => Promise<boolean>) | undefined {
    if (code.endsWith('npm start\n')) return async () => this.first.output.includes('Sluice is ready.');
    if (!code.endsWith('sluice worker\n')) return undefined;
    return async () => (await fetch(`http://127.0.0.1:${this.ports.worker}/health/ready`)).ok;
  }
}

const hasPython = spawnSync('python3', ['--version']).status === 0;
const hub = await openHub();
const reader = await Reader.create(hub);
try {
  const commands = await readPageCommands(page);
  for (const command of commands) {
    if (command.language === 'python' && !hasPython) continue;
    const started = performance.now();
    process.stdout.write(`\n==== ${command.language}\n${command.code}\n`);
    await reader.run(command);
    process.stdout.write(`(${((performance.now() - started) / 1_000).toFixed(1)} s)\n`);
  }
  const chat = commands.find(({ code }) => code.startsWith('curl '));
  if (chat === undefined) throw new Error(`${page} asks nothing with curl.`);
  await reader.untilServedBySecond(chat);
  process.stdout.write('\nThe second machine serves.\npassed\n');
} finally {
  await reader.close();
  await hub.close();
}
