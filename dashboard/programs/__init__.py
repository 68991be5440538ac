"""Questions of programs to a store: tools by the Model Context Protocol, and over HTTP."""
