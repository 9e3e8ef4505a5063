export { AccountsApiModule } from './accounts-api.module.js';
