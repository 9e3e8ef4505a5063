import type { JobEnvelope } from '../../contract/job-definition.js';
import type { EnvelopeSeal, Seals } from '../../contract/seals.js';
import { unreadable } from './payload-seal.js';

/** Takes the place of the payload in the queue. */
interface SealedPayload {
  sealed: string;
}

/** The members of an envelope that the seal hides. */
type SealedMembers = Pick<JobEnvelope, 'payload' | 'ticket'>;

/** Seals payload and ticket of a job with the key of its model. */
export class SealedEnvelopes implements EnvelopeSeal {
  constructor(private readonly keys: Seals) {}

  seal(envelope: JobEnvelope): JobEnvelope {
    if (this.keys.isEmpty) return envelope;
    const seal = this.keys.sealOf(envelope.modelId);
    if (seal === null) throw unreadable();
    const { payload, ticket, ...open } = envelope;
    const members: SealedMembers = { payload, ticket };
    const sealed: SealedPayload = { sealed: seal.seal(placeOf(envelope), JSON.stringify(members)) };
    return { ...open, payload: sealed };
  }

  open(envelope: JobEnvelope): JobEnvelope {
    const { payload } = envelope;
    if (!isSealed(payload)) return envelope;
    const seal = this.keys.sealOf(envelope.modelId);
    if (seal === null) throw unreadable();
    const members = JSON.parse(seal.open(placeOf(envelope), payload.sealed)) as SealedMembers;
    return { ...envelope, ...members };
  }
}

function placeOf({ requestId, modality, modelId }: JobEnvelope): string {
  return `job ${modality} ${modelId} ${requestId}`;
}

function isSealed(payload: unknown): payload is SealedPayload {
  return typeof payload === 'object' && payload !== null && typeof (payload as SealedPayload).sealed === 'string';
}
