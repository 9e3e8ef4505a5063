export { TeeHosts } from './tee-hosts.js';
