export { AdminModule } from './admin/admin.module.js';
export { ConsoleModule } from './console.module.js';
export { addConsolePages } from './pages/console-pages.js';
