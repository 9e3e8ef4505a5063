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
import { Wallets } from '#platform/wallets';

interface ModelRouteOptions {
  /** The route takes forms. */
  multipart?: MultipartLimits;
  /** Builds the response of a route that only queues a job from the job. */
  responseOfJob?: ResponseOfJob;
  /** True when the route runs no job, so that it costs nothing. */
  free?: true;
}

/** A route that runs a model: billed, limited by its model, for keys and wallets, and documented. */
export function ModelRoute(document: DocumentedRoute, options: ModelRouteOptions = {}): MethodDecorator {
  const { multipart, responseOfJob, free } = options;
  return applyDecorators(
    ApiRoute(document),
    Wallets(),
    ...(multipart ? [Multipart(multipart)] : []),
    LimitedByModel(),
    ...(free ? [] : [Billed(responseOfJob && { responseOfJob })]),
  );
}
