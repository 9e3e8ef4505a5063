import { PlatformError } from '#common';
import type { EvidenceReader, HostIdentity, ReceiptSigner, TeeChoice } from '#tee';

/** A request to sign. `text`: what `signedText` of #tee returns. */
interface SignInquiry {
  type: 'sign';
  requestId: string;
  text: string;
  /** What its receipt says of the request in addition. Absent: an api of an earlier version asks for no receipt. */
  exchange?: { chatId: string; model: string; endpoint: string };
}

/** What an api asks a host. `nonce`: 32 or 64 hex characters. */
export type HostInquiry = { type: 'attest'; nonce: string } | SignInquiry;

/** The key of a host as its worker publishes it, or why the host has none although it should. */
export type HostTeeReport = { publicKey: string; address: string; provider: string } | { failure: string };

/** Requests whose end is remembered until they are signed: more than a host ends while an api asks. */
const maxEnded = 10_000;

/**
 * The key of this host, and what it does with it. It signs each request that ended here once: nobody can have it sign a
 * second response to a request, or a request that it did not run.
 */
export class HostTee {
  /** By request, whether its response was sealed. */
  private readonly ended = new Map<string, { isSealed: boolean }>();
  private readonly sealedRuns = new Set<string>();

  private constructor(
    private readonly tee: typeof import('#tee'),
    readonly identity: HostIdentity,
    private readonly receipts: ReceiptSigner,
    private readonly reader: EvidenceReader | null,
  ) {}

  /** Loads the library and makes the key. Rejects with the reason when the hardware gives no evidence. */
  static async open(choice: TeeChoice): Promise<HostTee> {
    const tee = await import('#tee');
    const identity = tee.createHostIdentity();
    return new HostTee(tee, identity, tee.createReceiptSigner(identity), await tee.openEvidence(choice));
  }

  get report(): HostTeeReport {
    const { publicKey, address } = this.identity;
    return { publicKey, address, provider: this.reader?.provider ?? 'software' };
  }

  /** The response of a run that begins is sealed. */
  noteSealed(runId: string): void {
    this.sealedRuns.add(runId);
  }

  /** A run ended here. Its id is that of the request, with the number of the run. */
  noteEnd(runId: string): void {
    const [requestId = runId] = runId.split('#', 1);
    const isSealed = this.sealedRuns.delete(runId);
    this.ended.set(requestId, { isSealed: isSealed || this.ended.get(requestId)?.isSealed === true });
    const [oldest] = this.ended.keys();
    if (this.ended.size > maxEnded && oldest !== undefined) this.ended.delete(oldest);
  }

  /** Rejects with `TEE_ATTESTATION_FAILED` or `TEE_SIGNATURE_FAILED`. */
  async answer(inquiry: HostInquiry): Promise<object> {
    return inquiry.type === 'attest' ? await this.attest(inquiry.nonce) : this.sign(inquiry);
  }

  private async attest(nonceText: string): Promise<object> {
    const { identity, receipts, reader } = this;
    const nonce = this.tee.readNonce(nonceText);
    if (nonce === null) throw new PlatformError('TEE_ATTESTATION_FAILED', 'A nonce has 32 or 64 hex characters.');
    try {
      return await this.tee.attestHost({ identity, receipts, reader }, nonce);
    } catch (error) {
      throw new PlatformError('TEE_ATTESTATION_FAILED', 'The hardware returned no evidence.', null, { cause: error });
    }
  }

  private sign({ requestId, text, exchange }: SignInquiry): object {
    const signed = this.tee.parseSignedText(text);
    if (signed === null || (exchange && !isReceiptFor(exchange)))
      throw notSigned('The text is not one that hosts sign.');
    const run = this.ended.get(requestId);
    if (run === undefined) throw notSigned('The host that ran the request is gone, or has signed it.');
    this.ended.delete(requestId);
    const { publicKey, address } = this.identity;
    const servedAtMs = Date.now();
    const receipt = exchange && this.receipts.issue({ ...signed, ...exchange, ...run, servedAtMs });
    return { publicKey, address, signature: this.identity.sign(text), ...(receipt !== undefined && { receipt }) };
  }
}

/** Ids and paths of the platform; a receipt holds no other text of an api. */
function isReceiptFor({ chatId, model, endpoint }: NonNullable<SignInquiry['exchange']>): boolean {
  return (
    /^[\w.-]{1,128}$/.test(chatId) && /^[\w./@+-]{1,200}$/.test(model) && /^(?:\/[\w.:-]{1,64}){1,8}$/.test(endpoint)
  );
}

function notSigned(message: string): PlatformError {
  return new PlatformError('TEE_SIGNATURE_FAILED', message);
}
