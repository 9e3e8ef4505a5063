import { randomBytes } from 'node:crypto';
import { Controller, Get, Query } from '@nestjs/common';
import { PlatformError } from '#common';
import { ModelRegistryService } from '#model-registry';
import { ApiRoute, Exchange, type HttpExchange, queryFault, queryText } from '#platform/http';
import type { HostAttestation } from '#tee';
import { ExchangeSigner } from './exchange-signer.js';
import { presentAttestation } from './present-attestation.js';
import { attestationDocument, AttestationQuery, signatureDocument, SignatureQuery } from './tee.document.js';
import type { TeeAttestationResponse, TeeReceipt, TeeSignatureResponse } from './tee.response.js';
import { type TeeHost, TeeHosts } from './tee-hosts.js';

/** How long hardware may take for its evidence, in ms. */
const attestWithinMs = 25_000;

/** Longest id of a response: its prefix and that of its request. */
const longestId = 128;

/** What is not proven of the key; null where the service found the evidence to hold. */
function warningOf({ tee_provider: provider, verified, server_verification: found }: TeeAttestationResponse) {
  if (provider === 'software') return 'software: no hardware vouches for this key';
  return verified ? null : `${provider}: ${(found.tdx ?? found.sev)?.error ?? 'the evidence does not hold'}`;
}

/** What proves who answers: evidence for the keys of model hosts, and what they signed. No model runs. */
@Controller('tee')
export class TeeController {
  constructor(
    private readonly models: ModelRegistryService,
    private readonly hosts: TeeHosts,
    private readonly signer: ExchangeSigner,
  ) {}

  @Get('attestation')
  @AttestationQuery()
  @ApiRoute(attestationDocument)
  async attest(@Query() query: unknown, @Exchange() http: HttpExchange): Promise<TeeAttestationResponse> {
    const name = requiredText(query, 'model');
    const nonce = readNonce(query);
    const address = readAddress(query);
    const { id: model } = await this.models.describe(name);
    const attestation = await this.askHost(this.choose(model, address), nonce);
    const response = presentAttestation({ attestation, model, nonce }, await import('#tee'));
    const warning = warningOf(response);
    if (warning !== null) http.setHeaders({ 'x-service-tee-warning': warning });
    return response;
  }

  @Get('signature')
  @SignatureQuery()
  @ApiRoute(signatureDocument)
  async signature(@Query() query: unknown, @Exchange() http: HttpExchange): Promise<TeeSignatureResponse> {
    const name = requiredText(query, 'model');
    const id = requiredText(query, 'request_id');
    if (id.length > longestId) throw queryFault('request_id', `request_id has at most ${longestId} characters.`);
    const { id: model } = await this.models.describe(name);
    const { caller, request } = http;
    // PostgreSQL takes no such text.
    const found = id.includes('\0') ? null : await this.signer.find(caller.accountId, { id, requestId: request.id });
    if (found?.modelId !== model) throw unknownRequest();
    const { text, signature, address, receipt } = found;
    if (signature === null || address === null) throw notSigned();
    const signed = { text, signature, signing_address: address, signing_algo: 'ecdsa' };
    // The order of its members is that of the canonical form, which the response keeps.
    return receipt === null ? signed : { ...signed, receipt: JSON.parse(receipt) as TeeReceipt };
  }

  private choose(model: string, address: string | null): TeeHost {
    const hosts = this.hosts.of(model);
    const host = hosts.find((candidate) => address === null || candidate.address === address);
    if (host !== undefined) return host;
    const message =
      hosts.length === 0 ? `No worker attests the model ${model}.` : 'The host with this address is gone.';
    throw new PlatformError('TEE_ATTESTATION_FAILED', message, hosts.length === 0 ? 'model' : 'signing_address');
  }

  /** Rejects with `TEE_ATTESTATION_FAILED`, whatever keeps the host from answering. */
  private async askHost(host: TeeHost, nonce: string): Promise<HostAttestation> {
    try {
      return (await this.hosts.ask(host, { type: 'attest', nonce }, attestWithinMs)) as HostAttestation;
    } catch (error) {
      const message = 'The host of the model did not attest its key. Try again.';
      throw new PlatformError('TEE_ATTESTATION_FAILED', message, null, { cause: error });
    }
  }
}

function requiredText(query: unknown, name: string): string {
  const text = queryText(query, name);
  if (text === undefined || text === '') throw queryFault(name, `${name} is required.`);
  return text;
}

function readNonce(query: unknown): string {
  const nonce = queryText(query, 'nonce') ?? randomBytes(32).toString('hex');
  if (/^(?:[0-9a-f]{32}|[0-9a-f]{64})$/i.test(nonce)) return nonce;
  throw queryFault('nonce', 'nonce must have 32 or 64 hex characters.');
}

function readAddress(query: unknown): string | null {
  const address = queryText(query, 'signing_address');
  if (address === undefined) return null;
  if (/^0x[0-9a-f]{40}$/i.test(address)) return address.toLowerCase();
  throw queryFault('signing_address', 'signing_address must be 0x and 40 hex characters.');
}

function unknownRequest(): PlatformError {
  const message = 'There is no signature of a request with this id to this model, or it has expired.';
  return new PlatformError('REQUEST_ID_NOT_FOUND', message, 'request_id');
}

function notSigned(): PlatformError {
  const message = 'The host that answered this request was gone before it could sign, and its key with it.';
  return new PlatformError('TEE_SIGNATURE_FAILED', message, null, { retry: 'never' });
}
