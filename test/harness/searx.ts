import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';

/** Whether Debian's package `searx` is installed. */
export const hasSearx = spawnSync('sh', ['-c', 'command -v searx-run'], { stdio: 'ignore' }).status === 0;

/** A real searx server whose only engine asks a JSON service of the test. */
export interface Searx {
  url: string;
  stop(): Promise<void>;
}

/** Starts searx. `engineUrl` responds to `?q=` with `{results: [{title, url, content}]}`. */
export async function startSearx(engineUrl: string): Promise<Searx> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-searx-'));
  const settings = join(folder, 'settings.yml');
  await writeFile(settings, settingsOf(port, engineUrl));
  const child = spawn('searx-run', [], { env: { ...process.env, SEARX_SETTINGS_PATH: settings }, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(child, url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  while (child.exitCode === null) {
    const response = await fetch(`${url}/stats/errors`).catch(() => null);
    await response?.body?.cancel();
    if (response !== null) return;
    await sleep(100);
  }
  throw new Error(`searx ended with code ${child.exitCode}.`);
}

function settingsOf(port: number, engineUrl: string): string {
  return `
general: {debug: false, instance_name: test, contact_url: false, enable_stats: false}
brand: {git_url: '', git_branch: '', issue_url: '', docs_url: '', public_instances: '', wiki_url: '', twitter_url: ''}
search: {safe_search: 0, autocomplete: '', default_lang: '', ban_time_on_fail: 1, max_ban_time_on_fail: 1}
server:
  port: ${port}
  bind_address: 127.0.0.1
  secret_key: a key of the tests
  base_url: false
  image_proxy: false
  http_protocol_version: '1.1'
  method: GET
  default_http_headers: {}
ui:
  static_path: /usr/share/python3-searx/static
  templates_path: /usr/share/python3-searx/templates
  default_theme: oscar
  default_locale: ''
  theme_args: {oscar_style: logicodev}
outgoing: {request_timeout: 5.0, useragent_suffix: '', pool_connections: 10, pool_maxsize: 5}
checker: {off_when_debug: true}
engines:
  - name: fixture
    engine: json_engine
    shortcut: fx
    categories: general
    timeout: 5.0
    search_url: ${engineUrl}?q={query}
    results_query: results
    url_query: url
    title_query: title
    content_query: content
    time_range_support: true
    enable_http: true
locales: {en: English}
doi_resolvers: {none: http://127.0.0.1:9/}
default_doi_resolver: none
`;
}
