export { CacheScopes } from './job/cache-scopes.js';
export { ChatModule } from './chat.module.js';
export { writeFreely } from './job/free-chat.js';
