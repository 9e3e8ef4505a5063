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
    about: 'Jobs that may wait per model; one more is answered with 503.',
    default: 1_000,
    min: 1,
    max: 1_000_000,
  })
  queueLimit!: number;

  @IntegerVariable('SLUICE_AFFINITY_MS', {
    about:
      'How long a chat waits for the worker that served its earlier turns, in ms, before any worker may take it; 0 turns affinity off.',
    default: 400,
    min: 0,
    max: 1_000,
  })
  affinityMs!: number;

  @IntegerVariable('SLUICE_CHAT_DEADLINE_MS', {
    about:
      'How long a chat may take to its last token, in ms, the time it waits for the stores included; then it is answered with 504.',
    default: 600_000,
    min: 100,
    max: 86_400_000,
  })
  chatDeadlineMs!: number;

  @IntegerVariable('SLUICE_MEDIA_DEADLINE_MS', {
    about:
      'How long an async job of audio or video may take from its admission to its result, in ms; then it has failed and costs nothing.',
    default: 7_200_000,
    min: 1_000,
    max: 43_200_000,
  })
  mediaDeadlineMs!: number;

  @IntegerVariable('SLUICE_STORE_TIMEOUT_MS', {
    about:
      'How long database and limits may keep a request waiting until it is let in, all its questions to them together, in ms; then it is answered with 503.',
    default: 10_000,
    min: 500,
    max: 600_000,
  })
  storeTimeoutMs!: number;

  @IntegerVariable('SLUICE_KEEP_ALIVE_MS', {
    about: 'Silence after which a stream gets a comment, in ms.',
    default: 5_000,
    min: 50,
    max: 300_000,
  })
  keepAliveMs!: number;

  @IntegerVariable('SLUICE_STALLED_MS', {
    about: 'How long the reader of a stream may take nothing before it is cut off and its job cancelled, in ms.',
    default: 60_000,
    min: 100,
    max: 3_600_000,
  })
  stalledMs!: number;

  @ListVariable('SLUICE_CORS_ORIGINS', {
    about: 'Origins whose scripts may call the api; none by default.',
    default: '',
  })
  corsOrigins!: string[];

  @TextVariable('SLUICE_REGION_HEADER', {
    about:
      'Header in which a proxy names the caller’s country in two letters, for `regionRestrictions` of models; ' +
      'default: none, and no region is refused.',
    optional: true,
    pattern: /^[A-Za-z0-9-]{1,64}$/,
    expected: 'the name of a header: letters, digits and -',
  })
  regionHeader?: string;

  @BooleanVariable('SLUICE_BETA_MODELS', {
    about: 'Whether callers may use models in closed beta (`betaModel`); `npm start` sets it to true.',
    default: false,
  })
  betaModels!: boolean;

  @FfmpegVariable()
  ffmpeg!: string;

  @ListVariable('SLUICE_EGRESS_NETWORKS', {
    about:
      'Networks that URLs of callers may lead to although they are not public, such as `10.1.0.0/16`; none by default.',
    default: '',
  })
  egressNetworks!: string[];

  @TextVariable('SLUICE_PUBLIC_URL', {
    about: 'How callers reach the api, for download links; default: the host of the request.',
    optional: true,
    pattern: /^https?:\/\/[^/?#]+$/,
    expected: 'an http or https origin such as https://api.example.org',
  })
  publicUrl?: string;

  @TextVariable('SLUICE_STAKE_RPC_URL', {
    about:
      'JSON-RPC endpoint of the chain on which wallets stake, for keys that wallets mint; default: no chain is asked.',
    optional: true,
    pattern: /^https?:\/\/.+/,
    expected: 'an http or https URL',
    secret: true,
  })
  stakeRpcUrl?: string;

  @TextVariable('SLUICE_STAKE_CONTRACT', {
    about: 'Contract on that chain whose `balanceOf(address)` is what a wallet has staked.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}$/,
    expected: '0x and 40 hex digits',
  })
  stakeContractAddress?: string;

  @TextVariable('SLUICE_STAKE_ALLOW_LIST', {
    about: 'Wallets that may mint keys as if they had a stake, separated by commas.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*$/,
    expected: 'addresses (0x and 40 hex digits) separated by commas',
  })
  stakeAllowListText?: string;

  @IntegerVariable('SLUICE_SHUTDOWN_GRACE_MS', {
    about: 'How long open answers may go on after a stop signal, in ms.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  shutdownGraceMs!: number;

  /** Where stakes are looked up; null: nowhere. One variable without the other would let nobody in, and say nothing. */
  @SetTogether({ SLUICE_STAKE_RPC_URL: 'stakeRpcUrl', SLUICE_STAKE_CONTRACT: 'stakeContractAddress' })
  get stakeContract(): { rpcUrl: string; contract: string } | null {
    const { stakeRpcUrl: rpcUrl, stakeContractAddress: contract } = this;
    return rpcUrl === undefined || contract === undefined ? null : { rpcUrl, contract };
  }

  get stakeAllowList(): string[] {
    return this.stakeAllowListText?.split(',').map((address) => address.trim()) ?? [];
  }
}
