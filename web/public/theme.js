// Applies the chosen theme before the first paint. A separate file, because the content security policy allows no inline script.
try {
  const theme = localStorage.getItem('retinue.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the theme of the system applies.
}
