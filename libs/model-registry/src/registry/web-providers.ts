/** Knows what of the web this installation was given access to. */
export abstract class WebProviders {
  abstract readonly canSearch: boolean;

  abstract hasProvider(name: string): boolean;
}
