import { h, render } from 'preact';
import { App } from './shell/app.js';
import { applyStoredTheme } from './shell/theme.js';
import './styles/base.css';
import './styles/layout.css';
import './styles/controls.css';
import './styles/tables.css';

applyStoredTheme();
const root = document.getElementById('console');
if (root !== null) render(h(App, null), root);
