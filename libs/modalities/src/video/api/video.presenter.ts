import type { FastifyReply } from 'fastify';
import { PlatformError } from '#common';
import { isGiven } from '#platform/http';
import type { QueueVideoRequest } from '../contract/video.request.js';
import type { NeededConsentResponse, PolicyFailureResponse, VideoQueueResponse } from '../contract/video.response.js';
import type { ConsentFlow } from './video.model.js';

/** The API's name for each field that may show people. Faces are not detected, so each one sent may. */
const roles = [
  ['image_url', 'image'],
  ['end_image_url', 'end_image'],
  ['reference_image_urls', 'reference_image'],
  ['video_url', 'video'],
  ['reference_video_urls', 'reference_video'],
] as const;

/** The 409 response to a client that has not confirmed what the model requires. */
export function presentNeededConsent(body: QueueVideoRequest, consent: ConsentFlow): NeededConsentResponse {
  const { flow, consent_version, policy_text, docs_url } = consent;
  return {
    error: { code: 'needs_consent', message: `This model needs confirmations: send consents.${flow}.` },
    consent_flow: flow,
    face_media_roles: roles.filter(([field]) => isGiven(body[field])).map(([, role]) => role),
    consent: { consent_version, policy_text },
    docs_url,
  };
}

export function presentQueuedVideo({ modelId, queueId }: { modelId: string; queueId: string }): VideoQueueResponse {
  return { model: modelId, queue_id: queueId };
}

/** The 422 response for a job that was refused for its content and not charged. Rethrows other errors. */
export function presentPolicyFailure(error: unknown, reply: FastifyReply): PolicyFailureResponse {
  if (!(error instanceof PlatformError) || error.code !== 'CONTENT_POLICY_VIOLATION') throw error;
  void reply.status(422).header('x-should-retry', 'false');
  return { error: { message: error.message, type: 'provider_content_policy', credits_refunded: true } };
}
