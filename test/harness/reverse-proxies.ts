import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess } from './end-process.js';
import { freePort } from './free-port.js';

/** One of the programs that `deploy/proxies` has configurations for. */
interface ProxyProgram {
  program: string;
  file: string;
  /** Replaces the address and the certificate of the text, so that it listens without TLS on `port`. */
  listen(port: number, text: string, place: string): string;
  run(file: string, place: string): string[];
}

const programs: ProxyProgram[] = [
  {
    program: 'nginx',
    file: 'nginx.conf',
    listen: (port, text, place) => {
      const site = text
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
        .replace(/^\s+ssl_certificate.*\n/gm, '');
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = kinds.map((kind) => `${kind}_temp_path ${place}/${kind};`).join('\n');
      const main = `daemon off; pid ${place}/pid; error_log stderr crit;\nevents {}\n`;
      return `${main}http {\naccess_log off;\n${temporary}\n${site}\n}\n`;
    },
    run: (file, place) => ['-c', file, '-p', place],
  },
  {
    program: 'caddy',
    file: 'Caddyfile',
    listen: (port, text) =>
      `{\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n${text.replace(/^[\w.]*example\.com \{/m, `http://127.0.0.1:${port} {`)}`,
    run: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
  {
    program: 'haproxy',
    file: 'haproxy.cfg',
    listen: (port, text) => text.replace(/bind :443 ssl crt \S+/, `bind 127.0.0.1:${port}`),
    run: (file) => ['-q', '-f', file, '-db'],
  },
];

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'proxies');

/** Each configuration of `deploy/proxies`: at the root of a host, and below a path of one. */
export const proxyConfigurations = programs.flatMap(({ file, ...program }) => [
  { ...program, file, prefix: '' },
  { ...program, file: `prefix/${file}`, prefix: '/ai' },
]);

export type ProxyConfiguration = (typeof proxyConfigurations)[number];

/** False where the machine lacks the program of a configuration. */
export const isInstalled = ({ program }: ProxyConfiguration): boolean => spawnSync('which', [program]).status === 0;

/** A proxy that runs with a published configuration, at a port of its own. */
export class ReverseProxy {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
    private readonly place: string,
  ) {}

  /** `replace` gives the published text the addresses of the replicas. */
  static async start(proxy: ProxyConfiguration, replace: (text: string) => string): Promise<ReverseProxy> {
    const place = await mkdtemp(join(tmpdir(), 'sluice-proxy-'));
    const port = await freePort();
    const file = join(place, 'configuration');
    const text = replace(readFileSync(join(folder, proxy.file), 'utf8'));
    await writeFile(file, proxy.listen(port, text, place));
    const env = { PATH: process.env['PATH'], HOME: place, XDG_DATA_HOME: place, XDG_CONFIG_HOME: place };
    const child = spawn(proxy.program, proxy.run(file, place), { env, stdio: ['ignore', 'ignore', 'inherit'] });
    return new ReverseProxy(port, child, place);
  }

  /** Each ends its own children. */
  async stop(): Promise<void> {
    await endProcess(this.child, 'SIGTERM');
    await rm(this.place, { recursive: true, force: true });
  }
}
