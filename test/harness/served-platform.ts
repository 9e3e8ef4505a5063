import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll } from 'vitest';
import type { ModelManifest } from '#model-registry/manifest';
import { type Platform, startPlatform } from './platform.js';
import { stopConsistently } from './stop-consistently.js';

export interface ServedPlatformOptions {
  /** Installs the models of the platform. */
  install(home: string): Promise<ModelManifest[]>;
  /** Default: a folder that is removed after the tests. */
  home?: string;
  env?: Record<string, string>;
}

/** The platform of a spec file: runs from before its first test to after its last one. */
export class ServedPlatform {
  private current: Platform | null = null;

  constructor({ install, home: given, env }: ServedPlatformOptions) {
    let home = given;
    beforeAll(async () => {
      home ??= await mkdtemp(join(tmpdir(), 'sluice-home-'));
      const manifests = await install(home);
      this.current = await startPlatform({ engine: 'text', home, manifests, ...(env && { env }) });
    });
    afterAll(async () => {
      try {
        await stopConsistently(this.current ?? undefined);
      } finally {
        if (given === undefined && home !== undefined) await rm(home, { recursive: true, force: true });
      }
    });
  }

  get platform(): Platform {
    if (this.current === null) throw new Error('the platform is not running');
    return this.current;
  }

  /** Sends a form, or JSON. Waits for the response as long as it takes: `fetch` gives up after five minutes. */
  async post(path: string, body: object): Promise<Response> {
    const { baseUrl, inferenceKey } = this.platform;
    const content = body instanceof FormData ? new Response(body) : Response.json(body);
    const headers = {
      authorization: `Bearer ${inferenceKey}`,
      'content-type': content.headers.get('content-type') ?? '',
    };
    const sent = request(`${baseUrl}${path}`, { method: 'POST', headers });
    sent.end(Buffer.from(await content.arrayBuffer()));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const type = answer.headers['content-type'] ?? '';
    return new Response(await buffer(answer), { status: answer.statusCode ?? 0, headers: { 'content-type': type } });
  }
}
