# PowerShell completion for adze. Install: adze completion powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName adze -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { "$_".Trim('"', "'") })
    & adze __complete powershell -- @words "$wordToComplete" 2>$null | ForEach-Object {
        $value, $about = $_ -split "`t", 2
        if ($value -notlike ':*') {
            if (-not $about) { $about = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
        }
    }
}
