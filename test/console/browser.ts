import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Options of a browser whose microphone hears beeps, and whose user allows it. */
export const fakeMicrophone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** Starts a headless browser that reaches this machine only. Throws unless Debian's chromium is on the PATH. */
export async function startBrowser(options: readonly string[] = []): Promise<Browser> {
  const { status, stdout } = spawnSync('which', ['chromium'], { encoding: 'utf8' });
  if (status !== 0) throw new Error('There is no chromium on the PATH (Debian: apt-get install chromium).');
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'];
  return chromium.launch({ executablePath: stdout.trim(), args: [...args, ...options] });
}

export const desktop = { width: 1280, height: 900 };
export const phone = { width: 390, height: 844 };

/** A browser of a user in Rome, without cookies. */
export async function newContext(browser: Browser): Promise<BrowserContext> {
  const options = { viewport: desktop, timezoneId: 'Europe/Rome', locale: 'en-US', colorScheme: 'light' } as const;
  const context = await browser.newContext(options);
  // Conditions must hold eventually; tests do not say how soon.
  context.setDefaultTimeout(60_000);
  return context;
}

interface Watch {
  /** What the page did wrong since the last call; forgets it. */
  problems(): string[];
}

/**
 * Records errors of scripts, violations of the content security policy, requests that failed and requests to other hosts.
 * Statuses in `allowed` are part of the test.
 */
export function watchPage(page: Page, { allowed = [] as readonly number[] } = {}): Watch {
  let problems: string[] = [];
  let origin: string | null = null;
  // The browser writes a line of its own for each response that is an error.
  const isOfStatus = (text: string): boolean => allowed.some((status) => text.includes(`status of ${status} `));
  page.on('pageerror', (error) => problems.push(`error of a script: ${error.message}`));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type()) || isOfStatus(message.text())) return;
    problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!url.protocol.startsWith('http')) return;
    origin ??= url.origin;
    if (url.origin !== origin) problems.push(`request to ${url.origin}`);
  });
  page.on('response', (response) => {
    const status = response.status();
    if (status >= 400 && !allowed.includes(status)) problems.push(`${status}: ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const failure = request.failure()?.errorText ?? '';
    // A view that is left stops its requests.
    if (failure !== 'net::ERR_ABORTED') problems.push(`${failure}: ${request.url()}`);
  });
  return {
    problems: () => {
      const found = problems;
      problems = [];
      return found;
    },
  };
}

/** Signs a browser in with an API key, as the sign-in page does. */
export async function signInWith(context: BrowserContext, origin: string, apiKey: string): Promise<void> {
  const response = await context.request.post(`${origin}/console/session`, { data: { apiKey, path: '/' } });
  if (!response.ok()) throw new Error(`${response.status()}: ${await response.text()}`);
}

/** Opens a place of the console, such as `usage?range=30d`, and waits until it is shown. */
export async function openView(page: Page, origin: string, place: string): Promise<void> {
  await page.goto(`${origin}/console/#/${place}`);
  await untilShown(page);
}

/** Resolves when the view has its data. */
export async function untilShown(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  // Lazy parts and queries show it while they load.
  await page.locator('main .state .spinner').first().waitFor({ state: 'detached' });
}

/** True if the page itself, and not only a table in it, scrolls sideways. */
export async function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

interface AxeViolation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe whose result depends on the theme. */
export const colorRules = ['color-contrast', 'link-in-text-block'];

/** What axe finds on the page, one line for each element; by all rules unless some are named. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // The content security policy does not hold for what the debugger evaluates.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const options = JSON.stringify(rules === undefined ? {} : { runOnly: rules });
  const violations = await page.evaluate<AxeViolation[]>(`axe.run(${options}).then(({ violations }) => violations)`);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} ${failureSummary.replaceAll(/\s+/g, ' ')}`),
  );
}
