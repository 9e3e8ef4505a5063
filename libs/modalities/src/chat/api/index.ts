export { CacheScopes } from './cache-scopes.js';
export { ChatModule } from './chat.module.js';
export { writeFreely } from './free-chat.js';
