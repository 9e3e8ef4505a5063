import { LimitsConfig } from './limits.config.js';
import { WithSearch } from './search.variables.js';
import { WithPaymentOffers } from './payment.variables.js';
import { RpcHedge, WithRpcNodes } from './rpc.variables.js';
import { SetTogether } from './set-together.js';
import {
  StakeContractAddress,
  StakeDecimals,
  StakeDiem,
  StakeRpcUrl,
  type StakeSettings,
  stakeSettingsOf,
} from './stake.variables.js';
import { ApiHostVariable, ApiPortVariable, FfmpegVariable } from './shared.variables.js';
import {
  BooleanVariable,
  ChoiceVariable,
  IntegerVariable,
  ListVariable,
  PortVariable,
  TextVariable,
} from './variable.js';
import {
  PublicOrigins,
  WalletEvmRpcUrl,
  WalletOrigins,
  type WalletSettings,
  walletSettingsOf,
} from './wallet.variables.js';

export class ApiConfig extends WithPaymentOffers(WithRpcNodes(WithSearch(LimitsConfig))) {
  @ApiHostVariable()
  host!: string;

  @ApiPortVariable()
  port!: number;

  @TextVariable('SLUICE_API_HEALTH_HOST', {
    about: 'Address of its health and metrics server.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  })
  healthHost!: string;

  @PortVariable('SLUICE_API_HEALTH_PORT', {
    about: 'Port of its health and metrics server; 0: a free one.',
    default: 3003,
  })
  healthPort!: number;

  @BooleanVariable('SLUICE_API_PUBLIC_HEALTH', {
    about: 'Whether `PORT` shows `/health` and `/metrics` too.',
    default: false,
  })
  publicHealth!: boolean;

  @ChoiceVariable('SLUICE_ACCESS_LOG', {
    about: 'Logs one line per request at level `info`.',
    default: 'on',
    choices: ['on', 'off'],
  })
  accessLog!: 'on' | 'off';

  @IntegerVariable('SLUICE_QUEUE_LIMIT', {
    about: 'Jobs that may wait per model; beyond it, 503.',
    default: 1_000,
    min: 1,
    max: 1_000_000,
  })
  queueLimit!: number;

  @IntegerVariable('SLUICE_MODEL_WAIT_MS', {
    about: 'Time a request waits for a model that loads or whose last worker is being replaced; then 503.',
    default: 30_000,
    min: 0,
    max: 600_000,
  })
  modelWaitMs!: number;

  @IntegerVariable('SLUICE_MAX_WAIT_MS', {
    about: 'Expected wait beyond which a waiting client gets 503; at most half of the deadline.',
    default: 300_000,
    min: 1_000,
    max: 7_200_000,
  })
  maxWaitMs!: number;

  @IntegerVariable('SLUICE_AFFINITY_MS', {
    about: 'Time a chat waits for the worker that has its prefix cached; 0: off.',
    default: 400,
    min: 0,
    max: 1_000,
  })
  affinityMs!: number;

  @ChoiceVariable('SLUICE_PREFIX_CACHE_SCOPE', {
    about: 'Who shares cached prefixes. With `installation`, accounts can find out what others sent.',
    default: 'account',
    choices: ['account', 'installation'],
  })
  prefixCacheScope!: 'account' | 'installation';

  @IntegerVariable('SLUICE_CHAT_DEADLINE_MS', {
    about: 'Time a chat may take, waits included; then 504.',
    default: 600_000,
    min: 100,
    max: 86_400_000,
  })
  chatDeadlineMs!: number;

  @IntegerVariable('SLUICE_ADAPTER_CACHE_MB', {
    about: 'Memory for texts of input adapters, in MB.',
    default: 16,
    min: 0,
    max: 4_096,
  })
  adapterCacheMb!: number;

  @IntegerVariable('SLUICE_CHAT_WEB_MS', {
    about: 'Time a chat waits for web search or pages; then it goes on without.',
    default: 15_000,
    min: 100,
    max: 120_000,
  })
  chatWebMs!: number;

  @IntegerVariable('SLUICE_CHAT_WEB_TOKENS', {
    about: 'Tokens of web sources in a prompt, about; at most half of its context.',
    default: 4_000,
    min: 100,
    max: 1_000_000,
  })
  chatWebTokens!: number;

  @IntegerVariable('SLUICE_MEDIA_DEADLINE_MS', {
    about: 'Time an async audio or video job may take; then it fails, free.',
    default: 7_200_000,
    min: 1_000,
    max: 43_200_000,
  })
  mediaDeadlineMs!: number;

  @IntegerVariable('SLUICE_STORE_TIMEOUT_MS', {
    about: 'Time of a request for calls of stores until admission; then 503.',
    default: 10_000,
    min: 500,
    max: 600_000,
  })
  storeTimeoutMs!: number;

  @IntegerVariable('SLUICE_KEEP_ALIVE_MS', {
    about: 'Idle time after which a stream gets an SSE comment or a ping.',
    default: 5_000,
    min: 50,
    max: 300_000,
  })
  keepAliveMs!: number;

  @IntegerVariable('SLUICE_STALLED_MS', {
    about: 'Time a client may read nothing of a stream; then its job is cancelled.',
    default: 60_000,
    min: 100,
    max: 3_600_000,
  })
  stalledMs!: number;

  @IntegerVariable('SLUICE_BODY_MEMORY_MB', {
    about:
      'Request bodies that the api may hold, in MB; beyond it, 503. Beyond half by one key, or three quarters by one address, 429.',
    default: 192,
    min: 160,
    max: 65_536,
  })
  bodyMemoryMb!: number;

  @ListVariable('SLUICE_CORS_ORIGINS', {
    about: 'Origins whose scripts may call the api.',
    default: '',
  })
  corsOrigins!: string[];

  @TextVariable('SLUICE_REGION_HEADER', {
    about: 'Header with the caller’s two-letter country, for `regionRestrictions`; without it, none is refused.',
    optional: true,
    pattern: /^[A-Za-z0-9-]{1,64}$/,
    expected: 'the name of a header: letters, digits and -',
  })
  regionHeader?: string;

  @BooleanVariable('SLUICE_BETA_MODELS', {
    about: 'Whether every account may use beta models; `npm start`: true.',
    default: false,
  })
  betaModels!: boolean;

  @ListVariable('SLUICE_COMPATIBLE_NAMES', {
    about: 'Names of the default model of a kind, such as `my-*=text`; `hosted`: those of common clients.',
    default: 'hosted',
    expected: '`hosted`, `none`, or names with a kind, separated by commas',
  })
  compatibleNames!: string[];

  @TextVariable('SLUICE_SYSTEM_PROMPT_FILE', {
    about:
      'System prompt of models that follow instructions; an empty file: none. Default: `models/system-prompt.txt`.',
    optional: true,
    expected: 'a path',
  })
  systemPromptFile?: string;

  @TextVariable('SLUICE_CONTENT_POLICY_FILE', {
    about: 'Policy for texts (docs/operate/moderation.md).',
    optional: true,
    expected: 'a path',
  })
  contentPolicyFile?: string;

  @FfmpegVariable()
  ffmpeg!: string;

  @ListVariable('SLUICE_EGRESS_NETWORKS', {
    about: 'Private networks that URLs in requests may name, such as `10.1.0.0/16`.',
    default: '',
  })
  egressNetworks!: string[];

  @TextVariable('SLUICE_AUGMENT_PRICE_USD', {
    about: 'USD per `POST /augment/scrape` or `/augment/text-parser`.',
    default: '0.01',
    pattern: /^\d{1,4}(\.\d{1,9})?$/,
    expected: 'an amount of USD such as 0.01; 0 makes them free',
  })
  augmentPriceUsd!: string;

  @BooleanVariable('SLUICE_PAGE_ROBOTS', {
    about: 'Whether robots.txt of pages is obeyed (agent `sluice`).',
    default: true,
  })
  pageRobots!: boolean;

  @RpcHedge()
  rpcHedgeMs!: number;

  @TextVariable('SLUICE_RPC_CREDIT_PRICE_USD', {
    about: 'USD per RPC credit.',
    default: '0.0000007',
    pattern: /^\d{1,4}(\.\d{1,9})?$/,
    expected: 'an amount of USD with nine decimals at most; 0 makes it free',
  })
  rpcCreditPriceUsd!: string;

  @IntegerVariable('SLUICE_RPC_DAILY_CREDITS', {
    about: 'RPC credits of an account in 24 hours.',
    default: 10_000_000,
    min: 0,
    max: 1_000_000_000_000,
  })
  rpcDailyCredits!: number;

  @IntegerVariable('SLUICE_RPC_CONCURRENT', {
    about: 'RPC requests of an account at once; others wait up to 5 s.',
    default: 1,
    min: 1,
    max: 1_000,
  })
  rpcConcurrent!: number;

  @WalletOrigins()
  walletOrigins!: string[];

  @WalletEvmRpcUrl()
  walletEvmRpcUrl?: string;

  @PublicOrigins()
  get wallets(): WalletSettings {
    return walletSettingsOf(this);
  }

  @TextVariable('SLUICE_PUBLIC_URL', {
    about: 'Public address of the api; default: the host of the request.',
    optional: true,
    pattern: /^https?:\/\/[^/?#]+(?:\/[^/?#]+)*$/,
    expected:
      'an http or https address without a slash at its end, such as https://api.example.org or https://example.org/ai',
  })
  publicUrl?: string;

  @TextVariable('SLUICE_DOCS_URL', {
    about: 'Address of the published folder `docs`, for links of the console.',
    optional: true,
    pattern: /^https?:\/\/[^\s?#]+$/,
    expected: 'an http or https address such as https://docs.example.org/sluice',
  })
  docsUrl?: string;

  @IntegerVariable('SLUICE_STORED_RESPONSES_MS', {
    about: 'Time responses are stored, encrypted, for `previous_response_id`; 0: not. `npm start`: an hour.',
    default: 0,
    min: 0,
    max: 2_592_000_000,
  })
  storedResponsesMs!: number;

  @IntegerVariable('SLUICE_TEE_SIGNATURES_MS', {
    about: 'Time signatures are kept for `GET /tee/signature`.',
    default: 86_400_000,
    min: 60_000,
    max: 2_592_000_000,
  })
  teeSignaturesMs!: number;

  @TextVariable('SLUICE_TEE_HEADER_PREFIX', {
    about:
      'Prefix of headers of encrypted chats in addition to `X-Service-TEE-` (docs/guides/e2ee.md), such as `X-Vendor-TEE-`.',
    optional: true,
    pattern: /^[A-Za-z][A-Za-z0-9-]{0,61}-$/,
    expected: 'the beginning of a header: letters, digits and -, with - at its end',
  })
  teeHeaderPrefix?: string;

  @StakeRpcUrl()
  stakeRpcUrl?: string;

  @StakeContractAddress()
  stakeContractAddress?: string;

  @StakeDecimals()
  stakeDecimals!: number;

  @StakeDiem()
  stakeDiem!: string;

  @TextVariable('SLUICE_STAKE_ALLOW_LIST', {
    about: 'Wallets that may mint keys without a stake.',
    optional: true,
    pattern: /^0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*$/,
    expected: 'addresses (0x and 40 hex digits) separated by commas',
  })
  stakeAllowListText?: string;

  @IntegerVariable('SLUICE_SHUTDOWN_GRACE_MS', {
    about: 'Time open responses may take after a stop signal.',
    default: 25_000,
    min: 0,
    max: 3_600_000,
  })
  shutdownGraceMs!: number;

  /** Where stakes are looked up; null: nowhere. Setting only one of the variables would silently reject everyone. */
  @SetTogether({ SLUICE_STAKE_RPC_URL: 'stakeRpcUrl', SLUICE_STAKE_CONTRACT: 'stakeContractAddress' })
  get stakeSettings(): StakeSettings | null {
    return stakeSettingsOf(this);
  }

  /** In bytes. A form of 80 MB, the largest body, fits into each. */
  get bodyBudget(): { processBytes: number; addressBytes: number; keyBytes: number } {
    const processBytes = this.bodyMemoryMb * 1024 * 1024;
    return { processBytes, addressBytes: processBytes * 0.75, keyBytes: processBytes / 2 };
  }

  get stakeAllowList(): string[] {
    return this.stakeAllowListText?.split(',').map((address) => address.trim()) ?? [];
  }
}
