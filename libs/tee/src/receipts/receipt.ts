/** Version of the receipts and keysets, whose format is public ("aci/1"). */
export const receiptVersion = 'aci/1';

/** A public key of a workload: hex, in the form of its algorithm. */
export interface WorkloadKey {
  readonly algo: string;
  readonly public_key: string;
}

/** The keys of a model host. Its digest is in each receipt, and the attested key signs the digest. */
export interface WorkloadKeyset {
  /** The key whose address the evidence holds. */
  readonly workload_identity: { readonly public_key: WorkloadKey; readonly subject: null };
  /** `not_after`: seconds since the epoch. */
  readonly keyset_epoch: { readonly version: number; readonly not_after: number };
  readonly receipt_signing_keys: readonly (WorkloadKey & { readonly key_id: string })[];
  /** Empty: chats are sealed for the identity key, by a format that has no name there. */
  readonly e2ee_public_keys: readonly [];
  readonly tls_public_keys: readonly [];
}

/** A keyset, and the signature of the attested key over its digest. */
export interface EndorsedKeyset {
  readonly keyset: WorkloadKeyset;
  /** 64 bytes as hex. */
  readonly endorsement: string;
}

/** What a receipt says about one request; hashes are SHA-256 as hex. */
export interface ReceiptFacts {
  readonly receiptId: string;
  /** The id in the body of the response. */
  readonly chatId: string;
  readonly model: string;
  readonly endpoint: string;
  readonly servedAtMs: number;
  readonly requestHash: string;
  readonly responseHash: string;
  /** The response was sealed for its client: the hash of its clear form is unknown. */
  readonly isSealed: boolean;
}

export interface ReceiptSignature {
  readonly algo: string;
  readonly key_id: string;
  /** Absent while the receipt is signed. */
  readonly value?: string;
}

/** The members of a receipt that say which keys signed it. */
export interface ReceiptIssuer {
  readonly workload_id: string;
  readonly workload_keyset_digest: string;
  readonly signature: ReceiptSignature;
}

/** A receipt as it is signed. There is no `request.forwarded`: a model host gets a job and no HTTP body. */
export function receiptOf(facts: ReceiptFacts, { workload_id, workload_keyset_digest, signature }: ReceiptIssuer) {
  const responseHash = digestText(facts.responseHash);
  return {
    api_version: receiptVersion,
    receipt_id: facts.receiptId,
    chat_id: facts.chatId,
    model: facts.model,
    workload_id,
    workload_keyset_digest,
    endpoint: facts.endpoint,
    method: 'POST',
    served_at: Math.floor(facts.servedAtMs / 1_000),
    event_log: [
      { seq: 0, type: 'request.received', body_hash: digestText(facts.requestHash) },
      {
        seq: 1,
        type: 'response.returned',
        wire_hash: responseHash,
        ...(!facts.isSealed && { cleartext_hash: responseHash }),
      },
    ],
    signature,
  };
}

/** The form that hashes have in receipts and keysets. */
export function digestText(hex: string): string {
  return `sha256:${hex}`;
}
