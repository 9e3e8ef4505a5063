export { maxCalls, readCalls, type RpcRequest } from './json/read-calls.js';
export { findNetwork, type RpcNetwork, rpcNetworks } from './networks.js';
export { maxCreditsOf, RpcProxy, type RpcResult } from './rpc-proxy.js';
export { Upstream, type UpstreamProblem } from './upstreams/upstream.js';
