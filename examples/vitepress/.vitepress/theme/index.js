import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import Comments from './comments.vue';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-after': () => h(Comments) }),
};
