export { type Dialer, type DialTarget, systemDialer } from './dialer.js';
export * from './egress.js';
export { isGlobalAddress } from './global-address.js';
export { NameResolver, type NameResolverOptions } from './name-resolver.js';
export {
  OperatorClient,
  OperatorClientError,
  type OperatorRequest,
  type OperatorResponse,
  type OperatorStream,
  type ResponseRest,
} from './operator-client.js';
export * from './remote-file.js';
export { type HostAddress, type ResolveOptions, type Resolver, systemResolver } from './resolve-address.js';
