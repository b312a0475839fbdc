// The sidebar's page starts here.
import { App } from './app';
import { editorHost } from './host';
import './style.css';

const root = document.getElementById('app');
if (root) new App(root, editorHost());
