export { EgressModule } from './egress.module.js';
