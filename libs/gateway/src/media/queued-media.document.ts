import type { DocumentedRoute } from '#platform/http';

type Success = DocumentedRoute['responses'][number];

/** What differs between modalities; members of a document replace what is the same for all. */
interface RouteDetails extends Partial<DocumentedRoute>, Pick<Success, 'json' | 'content'> {
  body: DocumentedRoute['body'];
  /** Describes the response with status 200. */
  success?: string;
}

interface QueuedMediaDetails {
  /** A job in summaries: `Retrieve <noun>`. */
  noun: string;
  /** Id of the model in examples. */
  model: string;
  quote: RouteDetails & Pick<DocumentedRoute, 'errors'>;
  queue: RouteDetails;
  retrieve: RouteDetails;
  complete: RouteDetails;
}

const errors = [400, 401, 402, 403, 404, 429, 500, 503];

/**
 * OpenAPI documents of the four routes of a modality whose jobs clients queue: `POST /<modality>/quote`, `queue`,
 * `retrieve` and `complete`. `json` and `content` describe the response with status 200, `responses` the others.
 */
export function queuedMediaDocuments(
  modality: 'Audio' | 'Video',
  { noun, model, quote, queue, retrieve, complete }: QueuedMediaDetails,
): Record<'quote' | 'queue' | 'retrieve' | 'complete', DocumentedRoute> {
  const result = modality.toLowerCase();
  const example = { model, queue_id: '0b7fe1b6-6a3a-4dc1-9d0e-2f7dd9a8f1c0' };
  const route = (
    [step, verb, defaultSuccess]: [step: string, verb: string, defaultSuccess: string],
    { success = defaultSuccess, json, content, responses, ...details }: RouteDetails,
  ) => ({
    tags: [modality],
    operationId: `${step}${modality}`,
    summary: `${verb} ${noun}`,
    errors,
    ...details,
    responses: { 200: { description: success, json, content }, ...responses },
  });
  return {
    quote: route(['quote', 'Quote', 'The price.'], quote),
    queue: route(['queue', 'Queue', 'The job is queued.'], {
      description: `Queues the job and responds at once; \`/${result}/retrieve\` reports its progress.`,
      errors: [400, 401, 402, 403, 404, 413, 422, 429, 500, 503],
      ...queue,
    }),
    retrieve: route(['retrieve', 'Retrieve', `JSON while it runs, then the ${result}.`], {
      description: `The progress of the job, or the ${result}. Poll about every 5 seconds.`,
      example,
      ...retrieve,
    }),
    complete: route(['complete', 'Delete', 'Whether it was deleted.'], {
      description: 'Deletes the result of a job that has ended. A running job continues, and `success` is false.',
      example,
      ...complete,
    }),
  };
}
