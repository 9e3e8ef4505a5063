import type { JobEnvelope } from '../../contract/job-definition.js';
import { unreadable } from './payload-seal.js';
import type { QueueKeys } from './queue-keys.js';

/** Stands in the queue instead of a payload. */
interface SealedPayload {
  sealed: string;
}

function placeOf({ requestId, modality, modelId }: JobEnvelope): string {
  return `job ${modality} ${modelId} ${requestId}`;
}

/** What the seal hides of an envelope. */
type SealedMembers = Pick<JobEnvelope, 'payload' | 'ticket'>;

/** Returns the envelope as it is stored; unchanged without keys. */
export function sealEnvelope(envelope: JobEnvelope, keys: QueueKeys): JobEnvelope {
  if (keys.isEmpty) return envelope;
  const seal = keys.sealOf(envelope.modelId);
  if (seal === null) throw unreadable();
  const { payload, ticket, ...open } = envelope;
  const members: SealedMembers = { payload, ticket };
  const sealed: SealedPayload = { sealed: seal.seal(placeOf(envelope), JSON.stringify(members)) };
  return { ...open, payload: sealed };
}

/**
 * Returns what a stored envelope holds; a producer without a key stored it as it is. Throws `INFERENCE_FAILED` if it
 * cannot be opened here.
 */
export function openEnvelope(envelope: JobEnvelope, keys: QueueKeys): JobEnvelope {
  const { payload } = envelope;
  if (!isSealed(payload)) return envelope;
  const seal = keys.sealOf(envelope.modelId);
  if (seal === null) throw unreadable();
  const members = JSON.parse(seal.open(placeOf(envelope), payload.sealed)) as SealedMembers;
  return { ...envelope, ...members };
}

function isSealed(payload: unknown): payload is SealedPayload {
  return typeof payload === 'object' && payload !== null && typeof (payload as SealedPayload).sealed === 'string';
}
