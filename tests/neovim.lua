-- Opens a file in an editor that talks to amplint, prints what it shows, applies all fixes and writes the file.
local buffer = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({ name = "amplint", cmd = { vim.env.PYTHON, "-m", "amplint", "server" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, client)
vim.wait(30000, function() return #vim.diagnostic.get(buffer) > 0 end, 50)
for _, found in ipairs(vim.diagnostic.get(buffer)) do
  io.stdout:write(string.format("%d:%d %s\n", found.lnum + 1, found.col + 1, found.code))
end
local params = vim.lsp.util.make_range_params(0, "utf-16")
params.context = { diagnostics = {}, only = { "source.fixAll" } }
for _, answer in pairs(vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", params, 30000)) do
  for _, action in ipairs(answer.result) do
    vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
  end
end
vim.cmd("silent write | qall!")
