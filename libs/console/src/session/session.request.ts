import { TextField } from '#platform/http';

/** The body of `POST /console/session`: a key, or the token of a one-time link. */
export class SignInRequest {
  @TextField({ maxLength: 256, description: 'An API key.' })
  apiKey?: string;

  @TextField({ maxLength: 256, description: 'The token of a one-time link.' })
  token?: string;

  @TextField({
    maxLength: 200,
    default: '/',
    description: 'The path at which the browser sees the api, with a slash at both ends: the cookie is sent below it.',
  })
  path?: string;
}
