import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endProcess } from '#test/end-process';
import { freePort } from '#test/free-port';

/** Start timeout, in ms: a shared machine may take a minute. */
const startWithinMs = 150_000;
const entry = fileURLToPath(new URL('../../apps/api/src/main.js', import.meta.url));

/** One API replica as an operator runs it, alone with its database. */
export class ApiProcess {
  private log = '';

  private constructor(
    readonly baseUrl: string,
    private readonly child: ChildProcess,
    private readonly home: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.log = (this.log + text).slice(-10_000)));
    }
  }

  static async start(databaseUrl: string): Promise<ApiProcess> {
    const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    const port = await freePort();
    const env = {
      PATH: process.env.PATH ?? '',
      SLUICE_HOME: home,
      LOG_LEVEL: 'warn',
      DATABASE_URL: databaseUrl,
      SLUICE_SECRET_KEY: randomBytes(32).toString('hex'),
      HOST: '127.0.0.1',
      PORT: String(port),
      SLUICE_API_HEALTH_PORT: '0',
      SLUICE_API_PUBLIC_HEALTH: 'true',
    };
    const child = spawn(process.execPath, [entry], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const api = new ApiProcess(`http://127.0.0.1:${port}/api/v1`, child, home);
    await api.untilReady(`http://127.0.0.1:${port}/health/ready`);
    return api;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async close(): Promise<void> {
    await endProcess(this.child, 'SIGTERM');
    await rm(this.home, { recursive: true, force: true });
  }

  private async untilReady(url: string): Promise<void> {
    const deadline = performance.now() + startWithinMs;
    for (;;) {
      const isReady = await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) return;
      if (performance.now() > deadline || this.child.exitCode !== null) throw new Error(`no api:\n${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
