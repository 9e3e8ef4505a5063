import { loadFamilyEngine } from '../families/index.js';
import { serveModelHost } from './model-host.js';

serveModelHost(loadFamilyEngine);
