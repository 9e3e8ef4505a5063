import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGunzip, createGzip, constants } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOfPublicKey, canonicalJson, recoverAddress, verifyReceipt } from '#tee';
import { isFull, transportsFor } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { startSluice } from './sluice-command.js';
import { stopConsistently } from '#test/stop-consistently';

/* Two workers whose hosts have keys of software: evidence of hardware needs hardware. */

const model = 'tiny-llama';
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

interface Exchange {
  status: number;
  sent: Buffer;
  received: Buffer;
  requestId: string;
  isPacked: boolean;
  /** The id in the response's body. */
  responseId: string;
}

/** Sends bytes and returns those that came back, with gzip undone. No client library touches either. */
async function send(url: string, key: string, sent: Buffer, headers: Record<string, string> = {}): Promise<Exchange> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const call = httpRequest(url, { method: 'POST' }, resolve).once('error', reject);
    call.setHeader('authorization', `Bearer ${key}`);
    call.setHeader('content-type', 'application/json');
    for (const [name, value] of Object.entries(headers)) call.setHeader(name, value);
    call.end(sent);
  });
  const isPacked = response.headers['content-encoding'] === 'gzip';
  const parts: Buffer[] = [];
  for await (const part of isPacked ? response.pipe(createGunzip()) : response) parts.push(part as Buffer);
  const received = Buffer.concat(parts);
  const responseId = /"id":\s?"([^"]+)"/.exec(received.toString('utf8'))?.[1] ?? '';
  const requestId = String(response.headers['cf-ray'] ?? '');
  return { status: response.statusCode ?? 0, sent, received, isPacked, requestId, responseId };
}

/** A proxy that compresses every response, streams too, as some do in front of a service. */
async function startPackingProxy(target: string): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, outgoing) => {
    const { 'accept-encoding': _accepted, host: _host, ...headers } = incoming.headers;
    const call = httpRequest(`${target}${incoming.url}`, { method: incoming.method, headers }, (response) => {
      const { 'content-length': _length, ...kept } = response.headers;
      outgoing.writeHead(response.statusCode ?? 502, { ...kept, 'content-encoding': 'gzip' });
      response.pipe(createGzip({ flush: constants.Z_SYNC_FLUSH })).pipe(outgoing);
    });
    incoming.pipe(call);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

// Blanks, escapes and the order of members are the caller's: nothing may parse and print them again.
const odd = (stream: boolean) =>
  Buffer.from(
    `{ "stream":${stream},\r\n\t"messages":[{"content":"caf\\u00e9 — ${'words '.repeat(10)}[[tokens=120]]","role":"user"}], "model" : "${model}" ,"max_completion_tokens":130}`,
  );

for (const transport of transportsFor('postgres')) {
  describe(`attestation over ${transport}`, () => {
    let platform: Platform;
    let proxy: { url: string; server: Server };

    beforeAll(async () => {
      const env = { SLUICE_TEE: 'software' };
      platform = await startPlatform({
        transport,
        replicas: { worker: 2 },
        processEnv: { worker: env, 'worker-2': env },
      });
      proxy = await startPackingProxy(platform.origin);
      await untilAttested();
    });
    afterAll(async () => {
      proxy?.server.closeAllConnections();
      proxy?.server.close();
      await stopConsistently(platform);
    });

    async function get(path: string, query: Record<string, string>, key = platform.inferenceKey) {
      const url = `${platform.baseUrl}/tee/${path}?${new URLSearchParams(query)}`;
      const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
      const body = (await response.json()) as Record<string, unknown> & { code?: string };
      return { status: response.status, headers: response.headers, body };
    }

    /** Heartbeats of the workers may come a moment after the models are online. */
    async function untilAttested(): Promise<void> {
      const deadline = performance.now() + 30_000;
      while ((await get('attestation', { model })).status !== 200) {
        if (performance.now() > deadline) throw new Error(platform.log());
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }

    it('of software says that nothing is proven', async () => {
      for (const nonce of [randomBytes(16).toString('hex'), randomBytes(32).toString('hex')]) {
        const { status, headers, body } = await get('attestation', { model, nonce });
        expect(status).toBe(200);
        expect(headers.get('x-service-tee-warning')).toContain('no hardware');
        expect(body).toMatchObject({ verified: false, nonce, model, tee_provider: 'software', nvidia_payload: null });
        expect(body['intel_quote']).toBeUndefined();
        const { signing_key: key, signing_address: address } = body as Record<string, string>;
        expect(addressOfPublicKey(Buffer.from(key ?? '', 'hex'))).toBe(address);
        expect(body['server_verification']).toMatchObject({
          signingAddressBinding: { bound: false, reportDataAddress: null },
          nonceBinding: { bound: false, method: nonce.length === 64 ? 'raw' : 'sha256' },
        });
      }
      const models = (await (await fetch(`${platform.baseUrl}/models/${model}`)).json()) as {
        model_spec: { capabilities: object };
      };
      expect(models.model_spec.capabilities).toMatchObject({ supportsTeeAttestation: false });
    });

    const ways = [
      ['plain', false, {}, false],
      ['compressed by the api', false, { 'accept-encoding': 'gzip' }, false],
      ['streamed', true, {}, false],
      ['through a proxy that compresses', false, {}, true],
      ['streamed through a proxy that compresses', true, {}, true],
    ] as const;

    it.each(ways)('signs the bytes that the client sent and received: %s', async (_, stream, headers, isProxied) => {
      const origin = isProxied ? proxy.url : platform.origin;
      const exchange = await send(`${origin}/api/v1/chat/completions`, platform.inferenceKey, odd(stream), headers);
      expect([exchange.status, exchange.isPacked]).toEqual([200, isProxied || 'accept-encoding' in headers]);
      if (stream) expect(exchange.received.toString('utf8')).toMatch(/data: \[DONE\]\n\n$/);
      for (const id of [exchange.responseId, exchange.requestId]) {
        const { status, body } = await get('signature', { model, request_id: id });
        expect({ status, body }).toMatchObject({ status: 200, body: { signing_algo: 'ecdsa' } });
        const { text, signature, signing_address: address } = body as Record<string, string>;
        expect(text).toBe(`${sha256(exchange.sent)}:${sha256(exchange.received)}`);
        expect(recoverAddress(text ?? '', signature ?? '')).toBe(address);
        const attested = await get('attestation', { model, signing_address: address ?? '' });
        expect(attested.body['signing_address']).toBe(address);
        const { sent: requestBody, received: responseBody, responseId: chatId } = exchange;
        const facts = { model, requestBody, responseBody, address: address ?? '', chatId, nowMs: Date.now() };
        expect(verifyReceipt(body as object, attested.body as object, facts)).toMatchObject({ result: 'proven' });
        const { receipt } = body as { receipt: { event_log: object[]; workload_keyset_digest: string } };
        expect(JSON.stringify(receipt)).toBe(canonicalJson(receipt));
        expect(receipt.event_log).toMatchObject([
          { body_hash: `sha256:${sha256(requestBody)}` },
          { wire_hash: `sha256:${sha256(responseBody)}`, cleartext_hash: `sha256:${sha256(responseBody)}` },
        ]);
        expect(receipt.workload_keyset_digest).toBe(attested.body['workload_keyset_digest']);
      }
    });

    it('is of the host that answered, of several', async () => {
      const addresses = new Set<unknown>();
      await expect
        .poll(
          async () => {
            const [one, other] = await Promise.all(
              [1, 2].map(() => send(`${platform.baseUrl}/chat/completions`, platform.inferenceKey, odd(false))),
            );
            for (const exchange of [one, other]) {
              const { body } = await get('signature', { model, request_id: exchange?.responseId ?? '' });
              addresses.add(body['signing_address']);
            }
            return addresses.size;
          },
          { timeout: 60_000 },
        )
        .toBe(2);
    });

    it('gives a signature to nobody but the account of the request, and none for another model', async () => {
      const { responseId } = await send(`${platform.baseUrl}/chat/completions`, platform.inferenceKey, odd(false));
      const refused = { status: 400, body: { code: 'REQUEST_ID_NOT_FOUND' } };
      expect(await get('signature', { model, request_id: `${responseId}0` })).toMatchObject(refused);
      expect((await get('signature', { model: 'no-such-model', request_id: responseId })).status).toBe(404);
      expect((await get('signature', { model, request_id: responseId }, 'slk_wrong')).status).toBe(401);
    });

    it('is verified by the command, which says what is not proven', async () => {
      const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], SLUICE_API_KEY: platform.inferenceKey };
      const verify = (...flags: string[]) =>
        startSluice(['tee', 'verify', platform.baseUrl, '--model', model, ...flags], env).finished;
      const { code, stdout, stderr } = await verify();
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'sluice: 5 of 6 claims are not proven.\n' });
      expect(stdout).toMatch(/PROVEN +That key signed your request and its response/);
      expect(stdout).toMatch(/PROVEN +So does a receipt by a key that it endorsed/);
      expect(stdout).toMatch(/NOT PROVEN +Real hardware made the evidence +There is no evidence/);
      expect(stdout).toContain(`${model}: NOT attested`);
      const { results } = JSON.parse((await verify('--json')).stdout) as {
        results: { claim: string; result: string }[];
      };
      expect(results.filter(({ result }) => result === 'proven').map(({ claim }) => claim)).toEqual([
        'exchange',
        'receipt',
      ]);
      expect(results.filter(({ result }) => result === 'false')).toEqual([]);
    });

    it('answers wrong queries with a 400 that names the parameter', async () => {
      for (const nonce of ['', 'ab', 'g'.repeat(64), 'a'.repeat(31), 'a'.repeat(33), 'a'.repeat(63), 'a'.repeat(128)]) {
        const { status, body } = await get('attestation', { model, nonce });
        expect({ nonce, status, path: body['issues'] }).toMatchObject({ status: 400, path: [{ path: ['nonce'] }] });
      }
      expect((await get('attestation', {})).status).toBe(400);
      expect((await get('attestation', { model, signing_address: '0x' })).status).toBe(400);
      expect((await get('attestation', { model, signing_address: `0x${'0'.repeat(40)}` })).body.code).toBe(
        'TEE_ATTESTATION_FAILED',
      );
      expect((await get('signature', { model })).status).toBe(400);
    });

    it('fails no query with a 500 and charges nothing, whatever it holds', { timeout: 300_000 }, async () => {
      await platform.closedJobs();
      const ledger = () => platform.query('SELECT count(*)::int AS count FROM ledger_transactions');
      const before = await ledger();
      const statuses = new Map<number, number>();
      const parts = ['', 'a', '%00', '%ff', '0x', 'é', '..', '/', '[]', '{}', 'null', '-1', '1e999', 'a'.repeat(2_000)];
      const names = ['model', 'nonce', 'signing_address', 'request_id', 'model[]', '__proto__', 'x'];
      let seed = 7;
      const pick = <Item>(list: readonly Item[]): Item => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return list[seed % list.length] as Item;
      };
      const queries = isFull ? 1_000 : 200;
      for (let sent = 0; sent < queries; sent += 20) {
        const calls = Array.from({ length: 20 }, async () => {
          const members = Array.from(
            { length: 1 + (seed % 5) },
            () => `${pick(names)}=${pick([...parts, model])}${pick(parts)}`,
          );
          const path = pick(['attestation', 'signature']);
          const response = await fetch(`${platform.baseUrl}/tee/${path}?${members.join('&')}`, {
            headers: { authorization: `Bearer ${platform.inferenceKey}` },
          });
          await response.arrayBuffer();
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        });
        await Promise.all(calls);
      }
      const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
      expect(total).toBe(queries);
      for (const status of statuses.keys()) expect([200, 400, 404, 431, 502]).toContain(status);
      expect(await ledger()).toEqual(before);
    });

    it('ends with its host: a new one has another key, and what the old one had not signed never will be', async () => {
      const before = (await get('attestation', { model })).body['signing_address'] as string;
      const exchange = await send(`${platform.baseUrl}/chat/completions`, platform.inferenceKey, odd(true));
      for (const name of ['worker', 'worker-2'] as const) {
        await platform.kill(name);
        await platform.start(name);
      }
      await platform.untilOnline();
      await expect
        .poll(async () => (await get('attestation', { model })).body['signing_address'], { timeout: 60_000 })
        .not.toBe(before);
      // What was signed stays valid.
      expect((await get('signature', { model, request_id: exchange.responseId })).status).toBe(200);
      const gone = await get('attestation', { model, signing_address: before });
      expect(gone).toMatchObject({ status: 502, body: { code: 'TEE_ATTESTATION_FAILED' } });
    });

    it('says so where the host was gone before it could sign, and charges nothing for it', async () => {
      const { responseId } = await send(`${platform.baseUrl}/chat/completions`, platform.inferenceKey, odd(false));
      await platform.closedJobs();
      const [before] = await platform.query('SELECT count(*)::int AS count FROM ledger_transactions');
      await platform.query('UPDATE exchange_signatures SET signature = NULL, address = NULL WHERE response_id = $1', [
        responseId,
      ]);
      const { status, headers, body } = await get('signature', { model, request_id: responseId });
      expect({ status, code: body.code }).toEqual({ status: 502, code: 'TEE_SIGNATURE_FAILED' });
      expect(headers.get('x-should-retry')).toBe('false');
      expect(await platform.query('SELECT count(*)::int AS count FROM ledger_transactions')).toEqual([before]);
    });
  });
}
