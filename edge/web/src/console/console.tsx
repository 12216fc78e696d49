/** The moderators' page, at `/console`. */

import { render } from 'preact';
import { App } from './app.tsx';

const host = document.getElementById('console');
if (host) render(<App />, host);
