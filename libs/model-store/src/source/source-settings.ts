/** How sources are reached. Every member has a default, so that `{}` works for everybody. */
export interface SourceSettings {
  /** Base URL of the model hub, without a trailing slash. Default: the public hub. */
  hubEndpoint?: string;
  /** Sent to the hub alone, never to the hosts it redirects to. */
  hubToken?: string;
  /** Options for the npm registry client; absent: read from the user's npm configuration. */
  npm?: Record<string, unknown>;
  /** Largest single file that is fetched when the manifest states no size. Default 64 GiB. */
  maxFileBytes?: number;
}
