import { applyDecorators } from '@nestjs/common';
import {
  ApiRoute,
  Billed,
  type DocumentedRoute,
  LimitedByModel,
  Multipart,
  type MultipartLimits,
  type ResponseOfJob,
} from '#platform/http';

interface ModelRouteOptions {
  /** The route takes forms. */
  multipart?: MultipartLimits;
  /** The response of a route that only queues a job, made again from the job. */
  responseOfJob?: ResponseOfJob;
  /** The route runs no job, so it costs nothing. */
  free?: true;
}

/** A route that runs a model: billed, held to the limits of the model, and described by its document. */
export function ModelRoute(document: DocumentedRoute, options: ModelRouteOptions = {}): MethodDecorator {
  const { multipart, responseOfJob, free } = options;
  return applyDecorators(
    ApiRoute(document),
    ...(multipart ? [Multipart(multipart)] : []),
    LimitedByModel(),
    ...(free ? [] : [Billed(responseOfJob && { responseOfJob })]),
  );
}
