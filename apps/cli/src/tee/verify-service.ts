import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PlatformError } from '#common';
import type { ClaimName, ClaimResult, CollateralSource } from '#tee';
import type { CliContext } from '../cli-context.js';

export interface VerifyFlags {
  model: string;
  collateral?: string;
  pccs?: string;
  measurement?: string[];
  amdRoot?: string;
  minimumFirmware?: string;
  json?: boolean;
}

type Tee = typeof import('#tee');

/** Time of one request, in ms. */
const requestWithinMs = 120_000;

/** Longest body that is read, in bytes. */
const maxBytes = 16 * 1024 * 1024;

/**
 * What must be proven for the command to succeed; nothing else may be false. Which software runs can only be said by
 * whoever knows its measurements, and hosts of an earlier version issue no receipts.
 */
const required: readonly ClaimName[] = ['hardware', 'firmware', 'debugging', 'key', 'nonce', 'exchange'];

const questions: Record<ClaimName, string> = {
  hardware: 'Real hardware made the evidence',
  firmware: 'Its firmware is up to date',
  debugging: 'Its operator cannot look into it',
  software: 'It runs the software that you expect',
  key: 'The signing key was made in it',
  nonce: 'The evidence is not an old one',
  exchange: 'That key signed your request and its response',
  receipt: 'So does a receipt by a key that it endorsed',
};

/** What no evidence of this kind can prove, so that nobody reads more into the list. */
const limits = [
  'Not proven: that the signed response is what the model computed. The api, which may run elsewhere, states its hash.',
  'Not proven: that nobody read the request on its way. Without end-to-end encryption, api, queue and worker see it.',
];

/** `sluice tee verify`. Fails if anything that is required was not proven. */
export async function verifyService(context: CliContext, url: string | undefined, flags: VerifyFlags): Promise<void> {
  const tee = await import('#tee');
  const { serviceUrl, apiKey } = context.config;
  const service = new Service(apiOf(url ?? serviceUrl), apiKey ?? refuseWithoutKey(), context.signal);
  const results = await verify(service, flags, tee);
  const missing = required.filter(
    (name) => !results.some(({ claim, result }) => claim === name && result === 'proven'),
  );
  const wrong = results.filter(({ claim, result }) => result === 'false' && !required.includes(claim));
  const failed = [...missing, ...wrong.map(({ claim }) => claim)];
  print(context, { results, failed, model: flags.model }, flags);
  if (missing.length > 0) {
    throw new PlatformError('TEE_ATTESTATION_FAILED', `${missing.length} of ${required.length} claims are not proven.`);
  }
  if (failed.length > 0)
    throw new PlatformError('TEE_ATTESTATION_FAILED', `These claims are false: ${failed.join(', ')}.`);
}

/** The signature first: of several hosts of a model, the one that answered is the one to attest. */
async function verify(service: Service, flags: VerifyFlags, tee: Tee): Promise<ClaimResult[]> {
  const { model } = flags;
  const nowMs = Date.now();
  const requestBody = Buffer.from(
    JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], max_completion_tokens: 8 }),
  );
  const responseBody = await service.post('chat/completions', requestBody);
  const requestId = String(parseObject(responseBody)['id']);
  const signature = await service.get('tee/signature', { model, request_id: requestId });
  const nonce = randomBytes(32).toString('hex');
  const query: Record<string, string> = { model, nonce };
  const { signing_address: signer } = signature;
  if (typeof signer === 'string') query['signing_address'] = signer;
  const attestation = await service.get('tee/attestation', query);
  const firmwareOf = await firmwareCheck(flags, nowMs, tee);
  const claims = await tee.verifyAttestation(attestation, {
    nonce,
    nowMs,
    ...(firmwareOf !== null && { firmwareOf }),
    ...(flags.measurement !== undefined && { measurements: flags.measurement }),
    ...(await sevOptions(flags)),
  });
  // An alias or a trait stands for it.
  const attested = String(attestation['model']);
  const exchange = {
    requestBody,
    responseBody,
    address: String(attestation['signing_address']).toLowerCase(),
  };
  return [
    ...claims,
    tee.verifyExchange(signature, exchange),
    tee.verifyReceipt(signature, attestation, { ...exchange, model: attested, chatId: requestId, nowMs }),
  ];
}

async function sevOptions({ amdRoot, minimumFirmware }: VerifyFlags) {
  if (minimumFirmware !== undefined && !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(minimumFirmware)) {
    const message = '--minimum-firmware has four numbers, such as 4.0.24.219.';
    throw new PlatformError('INVALID_REQUEST', message, 'minimum-firmware');
  }
  return {
    ...(amdRoot !== undefined && { amdCertificates: await readFile(amdRoot, 'utf8') }),
    ...(minimumFirmware !== undefined && { minimumFirmware: minimumFirmware.split('.').map(Number) }),
  };
}

async function firmwareCheck({ collateral, pccs }: VerifyFlags, nowMs: number, tee: Tee) {
  if (collateral === undefined && pccs === undefined) return null;
  const source: CollateralSource =
    collateral === undefined ? { server: pccs ?? '' } : { collateral: parseObject(await readFile(collateral)) };
  return await tee.openFirmwareCheck(source, nowMs).catch((error: Error) => {
    throw new PlatformError('SERVICE_UNAVAILABLE', error.message);
  });
}

interface Report {
  results: readonly ClaimResult[];
  failed: readonly ClaimName[];
  model: string;
}

const marks = { proven: 'PROVEN', false: 'FALSE', unknown: 'NOT PROVEN' } as const;

function print({ output }: CliContext, { results, failed, model }: Report, { json }: VerifyFlags): void {
  if (json === true) return output.json({ model, isProven: failed.length === 0, results, limits });
  output.table(
    ['RESULT', 'CLAIM', 'WHY'],
    results.map(({ claim, result, detail }) => [marks[result], questions[claim], detail]),
  );
  output.line();
  for (const limit of limits) output.line(limit);
  output.line(
    failed.length === 0
      ? `${model}: attested.`
      : `${model}: NOT attested: nothing proves that its operator cannot read what it is asked.`,
  );
}

/** The base URL of the routes, from that or from the address of the service. Throws `INVALID_REQUEST` for another text. */
export function apiOf(url: string | undefined): string {
  if (url === undefined || !/^https?:\/\//.test(url) || !URL.canParse(url)) {
    const message = 'Give the address of the service, such as https://api.example.org, or set SLUICE_URL to it.';
    throw new PlatformError('INVALID_REQUEST', message, 'url');
  }
  const base = url.replace(/\/$/, '');
  return base.endsWith('/api/v1') ? base : `${base}/api/v1`;
}

/** The service to verify. Nothing that it says is trusted; bodies are bounded. */
class Service {
  constructor(
    private readonly base: string,
    private readonly key: string,
    private readonly signal: AbortSignal,
  ) {}

  async get(path: string, query: Record<string, string>): Promise<Record<string, unknown>> {
    return parseObject(await this.call(`${path}?${new URLSearchParams(query)}`, {}));
  }

  async post(path: string, body: Buffer): Promise<Buffer> {
    return await this.call(path, { method: 'POST', body });
  }

  private async call(path: string, init: { method?: string; body?: Buffer }): Promise<Buffer> {
    const signal = AbortSignal.any([this.signal, AbortSignal.timeout(requestWithinMs)]);
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const response = await fetch(`${this.base}/${path}`, {
      ...init,
      body: init.body?.toString('utf8'),
      headers,
      signal,
    });
    const bytes = await readBounded(response);
    if (response.ok) return bytes;
    const text = bytes.toString('utf8').slice(0, 500);
    throw new PlatformError('TEE_ATTESTATION_FAILED', `${path.split('?', 1)[0]} answered ${response.status}: ${text}`);
  }
}

async function readBounded(response: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += (part as Uint8Array).length;
    if (length > maxBytes) throw new PlatformError('TEE_ATTESTATION_FAILED', 'The service sends too much.');
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts);
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new PlatformError('TEE_ATTESTATION_FAILED', 'What came is no JSON object.');
}

function refuseWithoutKey(): never {
  throw new PlatformError('AUTHENTICATION_FAILED', 'Set SLUICE_API_KEY to a key of the service.');
}
