import type { FastifyReply } from 'fastify';
import { PlatformError } from '#common';
import { isGiven } from '#platform/http';
import type { QueueVideoRequest } from '../contract/video.request.js';
import type { VideoQueueResponse } from '../contract/video.response.js';
import type { ConsentFlow } from './video.model.js';

/** What each field may show of people, by the contract's names. */
const roles = {
  image_url: 'image',
  end_image_url: 'end_image',
  reference_image_urls: 'reference_image',
  video_url: 'video',
  reference_video_urls: 'reference_video',
} as const;

/** The answer 409 to whoever has not confirmed what the model asks for (contract 8.2). */
export function presentNeededConsent(wire: QueueVideoRequest, consent: ConsentFlow): object {
  const { flow, consent_version, policy_text, docs_url } = consent;
  const given = Object.entries(roles).filter(([field]) => isGiven(wire[field as keyof typeof roles]));
  return {
    error: { code: 'needs_consent', message: `This model asks for confirmations: send consents.${flow}.` },
    consent_flow: flow,
    // Nobody looks for faces: every picture or video that was sent may show one.
    face_media_roles: given.map(([, role]) => role),
    consent: { consent_version, policy_text },
    docs_url,
  };
}

export function presentQueuedVideo({ modelId, queueId }: { modelId: string; queueId: string }): VideoQueueResponse {
  return { model: modelId, queue_id: queueId };
}

/** The answer 422 of a job that was refused for what it shows; it was not charged. Other errors are thrown again. */
export function presentPolicyFailure(error: unknown, reply: FastifyReply): object {
  if (!(error instanceof PlatformError) || error.code !== 'CONTENT_POLICY_VIOLATION') throw error;
  void reply.status(422).header('x-should-retry', 'false');
  return { error: { message: error.message, type: 'provider_content_policy', credits_refunded: true } };
}
