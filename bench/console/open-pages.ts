import { csrfHeader } from '#accounts';

/** Paths that each page asks for while it is open and visible, as the views of `apps/console` do. */
const polledPaths: Record<string, readonly { path: string; everyMs: number }[]> = {
  overview: [{ path: 'api/admin/v1/overview?tz=Europe/Berlin', everyMs: 5_000 }],
  playground: [
    { path: 'api/v1/models?type=text', everyMs: 15_000 },
    { path: 'api/v1/models?type=all', everyMs: 15_000 },
  ],
  models: [
    { path: 'api/admin/v1/models', everyMs: 5_000 },
    { path: 'api/admin/v1/model_installations?limit=20', everyMs: 5_000 },
  ],
  queue: [
    { path: 'api/admin/v1/queue', everyMs: 5_000 },
    { path: 'api/admin/v1/workers', everyMs: 5_000 },
  ],
  requests: [{ path: 'api/admin/v1/requests', everyMs: 15_000 }],
  health: [{ path: 'api/admin/v1/health', everyMs: 10_000 }],
};

export const polledPages = Object.keys(polledPaths);

/** A browser with a session of its own, which keeps pages open. */
export class SignedInBrowser {
  private constructor(
    private readonly origin: string,
    private readonly headers: Record<string, string>,
  ) {}

  static async signIn(origin: string, apiKey: string): Promise<SignedInBrowser> {
    const response = await fetch(`${origin}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiKey, path: '/' }),
    });
    const body = await response.text();
    if (!response.ok) throw new Error(`The sign-in answered ${response.status}: ${body.slice(0, 500)}`);
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
    const { csrf } = JSON.parse(body) as { csrf: string };
    return new SignedInBrowser(origin, { cookie, [csrfHeader]: csrf });
  }

  /**
   * Polls like a page in a tab of this browser, beginning a little later than others do. Its other tabs share what this
   * one loads (`apps/console/src/api/shared-data.ts`).
   */
  async keepOpen({ page, startsAt, forMs }: { page: string; startsAt: number; forMs: number }): Promise<void> {
    const untilMs = performance.now() + forMs;
    const paths = polledPaths[page];
    if (paths === undefined) throw new Error(`There is no page ${page}; expected ${polledPages.join(', ')}.`);
    const polls = paths.map(async ({ path, everyMs }) => {
      await pause(startsAt * everyMs);
      for (let headers = {}; performance.now() < untilMs; headers = acceptedAge(everyMs)) {
        await this.read(path, headers);
        await pause(Math.min(everyMs, untilMs - performance.now()));
      }
    });
    await Promise.all([pause(forMs), ...polls]);
  }

  private async read(path: string, headers: Record<string, string>): Promise<void> {
    const response = await fetch(`${this.origin}/${path}`, { headers: { ...this.headers, ...headers } });
    const body = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 500)}`);
  }
}

/** As the pages ask again (`apps/console/src/api/use-query.ts`). */
function acceptedAge(everyMs: number): Record<string, string> {
  return { 'cache-control': `max-age=${Math.floor((everyMs * 0.8) / 1_000)}` };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
