export * from './api.config.js';
export * from './base.config.js';
export * from './child-environment.js';
export * from './cli.config.js';
export * from './load-config.js';
export * from './local.config.js';
export * from './limits.config.js';
export type { MemoryBudgetSetting } from './memory-budget.js';
export * from './nearest-names.js';
export * from './ops.config.js';
export type {
  FacilitatorSettings,
  PaymentExecutionNetwork,
  PaymentExecutionSettings,
  PaymentNetworkSettings,
  PaymentSettings,
} from './payment.variables.js';
export { type RpcNetworkName, rpcNetworkNames, type RpcSettings, type RpcUpstreamSettings } from './rpc.variables.js';
export { forgetPostgresVariables } from './postgres-variables.js';
export * from './stores.config.js';
export { type SearchProviderName, searchProviderNames, type SearchSettings } from './search.variables.js';
export * from './tracing.config.js';
export * from './variable.js';
export * from './worker.config.js';
export type { WalletSettings } from './wallet.variables.js';
