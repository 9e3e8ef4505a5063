import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import {
  AccountsRepository,
  ContractSignatures,
  SignInVerifier,
  WalletCallers,
  WalletKeysRepository,
  WalletNoncesRepository,
} from '#accounts';
import { AccountsModule } from '#accounts/nest';
import { BillingModule } from '#billing/nest';
import { ChainsModule } from '#chains/nest';
import { DocumentsModule } from '#documents/nest';
import { OperatorClient } from '#egress';
import { EgressModule } from '#egress/nest';
import { RequestBudgets } from '#jobs';
import { AdmissionModule } from '#jobs/nest';
import { MediaModule } from '#media/nest';
import { PaymentsModule } from '#payments/nest';
import { ModelRegistryModule } from '#model-registry/nest';
import { ApiConfig } from '#platform/config';
import { WatchedFile } from '#platform/files';
import { Logger } from '#platform/logging';
import { RateLimitModule } from '#rate-limit/nest';
import { StorageModule } from '#storage/nest';
import { WebModule } from '#web/nest';
import { AugmentController } from './augment/augment.controller.js';
import { DirectRequests } from './pipeline/direct-requests.js';
import { AccessGuard } from './access/access.guard.js';
import { CryptoRpcController } from './crypto-rpc/crypto-rpc.controller.js';
import { CreditBlocks } from './crypto-rpc/credit-blocks.js';
import { RpcLimits } from './crypto-rpc/rpc-limits.js';
import { ErrorFilter } from './errors/error.filter.js';
import { RouteTable } from './errors/route-table.js';
import { RequestHooks } from './http/request-hooks.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { ReplayLimit } from './limits/replay-limit.js';
import { AudioRelays } from './media/audio-relays.js';
import { DownloadUrls } from './media/download-urls.js';
import { DownloadController } from './media/download.controller.js';
import { MediaArtifacts } from './media/media-artifacts.js';
import { QueuedMedia } from './media/queued-media.js';
import { TextClassifier } from './pipeline/policy/classifiers.js';
import { ContentPolicy } from './pipeline/policy/content-policy.js';
import { ModerationController } from './moderation/moderation.controller.js';
import { parsePolicy } from './pipeline/policy/policy-file.js';
import { PromptTexts } from './pipeline/policy/prompt-texts.js';
import { Drain } from './pipeline/drain.js';
import { ExchangeInterceptor } from './pipeline/exchange.interceptor.js';
import { ExpectedModels } from './pipeline/expected-models.js';
import { JobRunner } from './pipeline/job-runner.js';
import { ModelAvailabilityWatcher } from './pipeline/model-availability-watcher.js';
import { ModelResolver } from './pipeline/model-resolver.js';
import { RequestPipeline } from './pipeline/request-pipeline.js';
import { StoreBudgets } from './request/store-budgets.js';
import { ExchangeSigner } from './tee/exchange-signer.js';
import { TeeController } from './tee/tee.controller.js';
import { TeeHosts } from './tee/tee-hosts.js';
import { ResponseStore } from './responses/response-store.js';
import { PaymentAnswers } from './wallets/payment-answers.js';
import { WalletSignIns } from './wallets/wallet-sign-ins.js';
import { WalletsController } from './wallets/wallets.controller.js';

/** The requests in flight and what each may still wait for the stores; admission asks for the latter. */
@Global()
@Module({
  providers: [Drain, StoreBudgets, { provide: RequestBudgets, useExisting: StoreBudgets }],
  exports: [Drain, StoreBudgets, RequestBudgets],
})
export class RequestStateModule {}

/** Rejects, naming the file, if the policy cannot be used: a typing error must not switch it off. */
async function openPolicy(
  { contentPolicyFile: path }: ApiConfig,
  texts: PromptTexts,
  classifier: TextClassifier,
  logger: Logger,
): Promise<ContentPolicy> {
  const onProblem = (error: unknown) => logger.error({ error }, 'the changed content policy cannot be used');
  const file = path === undefined ? null : await WatchedFile.open({ path, parse: parsePolicy, onProblem });
  return new ContentPolicy(file, texts, classifier);
}

function signInsOf(
  { wallets }: ApiConfig,
  accounts: AccountsRepository,
  keys: WalletKeysRepository,
  nonces: WalletNoncesRepository,
): WalletSignIns {
  if (!wallets.isOn) return new WalletSignIns(null);
  const contracts = new ContractSignatures(wallets.rpcUrls, new OperatorClient());
  const verifier = new SignInVerifier(wallets, contracts);
  return new WalletSignIns(new WalletCallers({ accounts, keys, nonces, verifier }));
}

/** The path of a request: hooks before the body is read, then guard, interceptor and filter of every route. */
@Module({
  imports: [
    RequestStateModule,
    AccountsModule,
    BillingModule,
    RateLimitModule,
    ModelRegistryModule,
    AdmissionModule,
    StorageModule,
    MediaModule,
    EgressModule,
    DocumentsModule,
    WebModule,
    ChainsModule,
    PaymentsModule,
  ],
  controllers: [
    DownloadController,
    ModerationController,
    AugmentController,
    CryptoRpcController,
    WalletsController,
    TeeController,
  ],
  providers: [
    RouteTable,
    RequestHooks,
    ReplayLimit,
    ModelResolver,
    JobRunner,
    ExpectedModels,
    RequestPipeline,
    DirectRequests,
    RpcLimits,
    CreditBlocks,
    QueuedMedia,
    MediaArtifacts,
    AudioRelays,
    DownloadUrls,
    ResponseStore,
    TeeHosts,
    ExchangeSigner,
    {
      provide: ContentPolicy,
      inject: [ApiConfig, PromptTexts, TextClassifier, Logger],
      useFactory: openPolicy,
    },
    ModelAvailabilityWatcher,
    {
      provide: WalletSignIns,
      inject: [ApiConfig, AccountsRepository, WalletKeysRepository, WalletNoncesRepository],
      useFactory: signInsOf,
    },
    PaymentAnswers,
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    { provide: APP_INTERCEPTOR, useClass: ExchangeInterceptor },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
  exports: [
    RequestHooks,
    ModelResolver,
    JobRunner,
    RequestPipeline,
    ContentPolicy,
    QueuedMedia,
    MediaArtifacts,
    AudioRelays,
    DownloadUrls,
    ResponseStore,
    TeeHosts,
    MediaModule,
  ],
})
export class GatewayModule implements OnApplicationShutdown {
  constructor(private readonly replicas: ModelAvailabilityWatcher) {}

  onApplicationShutdown(): void {
    this.replicas.close();
  }
}
