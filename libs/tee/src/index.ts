export {
  addressOfPublicKey,
  createHostIdentity,
  type HostIdentity,
  identityOf,
  recoverAddress,
} from './host-identity.js';
