export { type Dialer, type DialTarget, systemDialer } from './dialer.js';
export * from './egress.js';
export { isGlobalAddress } from './global-address.js';
export * from './remote-file.js';
export { type HostAddress, type Resolver, systemResolver } from './resolve-address.js';
