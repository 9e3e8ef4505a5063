import { LimitsConfig } from './limits.config.js';
import { SetTogether } from './set-together.js';
import { ApiHostVariable, ApiPortVariable, FfmpegVariable } from './shared.variables.js';
import { BooleanVariable, IntegerVariable, ListVariable, TextVariable } from './variable.js';

export class ApiConfig extends LimitsConfig {
  @ApiHostVariable()
  host!: string;

  @ApiPortVariable()
  port!: number;

  @IntegerVariable('SLUICE_QUEUE_LIMIT', {
    about: 'Jobs that may wait per model; beyond it the response is 503.',
    default: 1_000,
    min: 1,
    max: 1_000_000,
  })
  queueLimit!: number;

  @IntegerVariable('SLUICE_AFFINITY_MS', {
    about:
      'Time a chat waits for the worker that has its prefix cached before any free worker takes it, in ms; 0: off.',
    default: 400,
    min: 0,
    max: 1_000,
  })
  affinityMs!: number;

  @IntegerVariable('SLUICE_CHAT_DEADLINE_MS', {
    about: 'Time a chat may take to its last token, waits for the stores included, in ms; then the response is 504.',
    default: 600_000,
    min: 100,
    max: 86_400_000,
  })
  chatDeadlineMs!: number;

  @IntegerVariable('SLUICE_MEDIA_DEADLINE_MS', {
    about:
      'Time an async audio or video job may take from admission to result, in ms; then it fails and costs nothing.',
    default: 7_200_000,
    min: 1_000,
    max: 43_200_000,
  })
  mediaDeadlineMs!: number;

  @IntegerVariable('SLUICE_STORE_TIMEOUT_MS', {
    about:
      'Time a request may spend on database and rate-limit calls until it is admitted, in ms; then the response is 503.',
    default: 10_000,
    min: 500,
    max: 600_000,
  })
  storeTimeoutMs!: number;

  @IntegerVariable('SLUICE_KEEP_ALIVE_MS', {
    about: 'Idle time after which a stream gets an SSE comment, in ms.',
    default: 5_000,
    min: 50,
    max: 300_000,
  })
  keepAliveMs!: number;

  @IntegerVariable('SLUICE_STALLED_MS', {
    about: 'Time a client may read nothing from a stream before it is disconnected and its job cancelled, in ms.',
    default: 60_000,
    min: 100,
    max: 3_600_000,
  })
  stalledMs!: number;

  @ListVariable('SLUICE_CORS_ORIGINS', {
    about: 'Origins whose scripts may call the api; default: none.',
    default: '',
  })
  corsOrigins!: string[];

  @TextVariable('SLUICE_REGION_HEADER', {
    about:
      'Header in which a proxy sends the caller’s two-letter country, for `regionRestrictions` of models; ' +
      'default: none, and no region is refused.',
    optional: true,
    pattern: /^[A-Za-z0-9-]{1,64}$/,
    expected: 'the name of a header: letters, digits and -',
  })
  regionHeader?: string;

  @BooleanVariable('SLUICE_BETA_MODELS', {
    about: 'Whether every account may use models in closed beta (`beta`); `npm start` sets it to true.',
    default: false,
  })
  betaModels!: boolean;

  @FfmpegVariable()
  ffmpeg!: string;

  @ListVariable('SLUICE_EGRESS_NETWORKS', {
    about: 'Private networks that URLs in requests may lead to, such as `10.1.0.0/16`; default: none.',
    default: '',
  })
  egressNetworks!: string[];

  @TextVariable('SLUICE_PUBLIC_URL', {
    about: 'Public address of the api, for download links; default: the host of the request.',
    optional: true,
    pattern: /^https?:\/\/[^/?#]+$/,
    expected: 'an http or https origin such as https://api.example.org',
  })
  publicUrl?: string;

  @TextVariable('SLUICE_STAKE_RPC_URL', {
    about:
      'JSON-RPC endpoint of the chain on which wallets stake, for wallet-minted keys; default: no chain is queried.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
    secret: true,
  })
  stakeRpcUrl?: string;

  @TextVariable('SLUICE_STAKE_CONTRACT', {
    about: 'Contract on that chain whose `balanceOf(address)` is the stake of a wallet.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}$/,
    expected: '0x and 40 hex digits',
  })
  stakeContractAddress?: string;

  @TextVariable('SLUICE_STAKE_ALLOW_LIST', {
    about: 'Wallets that may mint keys without a stake.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*$/,
    expected: 'addresses (0x and 40 hex digits) separated by commas',
  })
  stakeAllowListText?: string;

  @IntegerVariable('SLUICE_SHUTDOWN_GRACE_MS', {
    about: 'Time open responses may take after a stop signal, in ms.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  shutdownGraceMs!: number;

  /** Where stakes are looked up; null: nowhere. Setting only one of the variables would silently reject everyone. */
  @SetTogether({ SLUICE_STAKE_RPC_URL: 'stakeRpcUrl', SLUICE_STAKE_CONTRACT: 'stakeContractAddress' })
  get stakeContract(): { rpcUrl: string; contract: string } | null {
    const { stakeRpcUrl: rpcUrl, stakeContractAddress: contract } = this;
    return rpcUrl === undefined || contract === undefined ? null : { rpcUrl, contract };
  }

  get stakeAllowList(): string[] {
    return this.stakeAllowListText?.split(',').map((address) => address.trim()) ?? [];
  }
}
